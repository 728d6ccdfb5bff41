"""`--pack DIR`, which every command takes that looks for challenges. Apart from `common`, which notebooks use without typer."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from typer.core import TyperCommand, TyperOption

from trainer.cli.common import name_packs

PACK_HELP = "Take the pack in this folder too, before all others; may be given several times."
# One for all commands: it keeps nothing of a call.
_OPTION = TyperOption(
    param_decls=["--pack"],
    metavar="DIR",
    multiple=True,
    default=(),
    show_default=False,
    expose_value=False,
    callback=lambda context, parameter, value: name_packs(value),
    help=PACK_HELP,
)


class PackCommand(TyperCommand):
    """A command that takes `--pack DIR` beside its own options; before the command the program takes it."""

    def __init__(
        self, *arguments: Any, params: Sequence[Any] | None = None, **options: Any
    ) -> None:
        super().__init__(*arguments, params=[*(params or ()), _OPTION], **options)
