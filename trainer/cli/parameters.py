"""Parameters that several commands share: `--pack DIR`, the challenge, the learner's file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextvars import ContextVar
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup, TyperOption

from trainer.app.open_packs import KnownPacks, open_packs
from trainer.model.errors import DrillError

_packs: ContextVar[KnownPacks] = ContextVar("packs")
PACK_HELP = "Use the pack in this folder first, before all others; may be given several times."


def name_packs(context: typer.Context, folders: Iterable[Path | str] | None) -> None:
    """Add the folders of `--pack` to the packs of this command.

    Folders named before the command's name stay first. The packs are in `context.obj`, which a
    subcommand inherits.
    """
    known_packs: KnownPacks = context.obj or open_packs()
    context.obj = known_packs.naming(folders or ())
    _packs.set(context.obj)


def packs_of_run() -> KnownPacks:
    """Return the packs of this command, for commands with too many parameters for a context."""
    return _packs.get()


# All commands can share this object, because it stores nothing between calls.
_PACK_OPTION = TyperOption(
    param_decls=["--pack"],
    metavar="DIR",
    multiple=True,
    default=(),
    show_default=False,
    expose_value=False,
    callback=lambda context, _parameter, folders: name_packs(context, folders),
    help=PACK_HELP,
)


class PackCommand(TyperCommand):
    """A command that takes `--pack DIR`. The program also takes it before the command's name."""

    def __init__(
        self, *arguments: Any, params: Sequence[Any] | None = None, **options: Any
    ) -> None:
        super().__init__(*arguments, params=[*(params or ()), _PACK_OPTION], **options)

    def format_usage(self, ctx: Any, formatter: Any) -> None:
        """Write the usage. The default command of a group has no name, and leaves no blank."""
        path = " ".join(ctx.command_path.split())
        formatter.write_usage(path, " ".join(self.collect_usage_pieces(ctx)))


class DefaultCommandGroup(TyperGroup):
    """A command with subcommands. Without the name of a subcommand, the default command runs.

    `attn-drill grade DIR` runs the default command, and `attn-drill grade override` another.
    """

    DEFAULT = "default"

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Add the name of the default command if the arguments name no subcommand."""
        if not args or args[0] not in self.commands:
            args = [self.DEFAULT, *args]
        return super().parse_args(ctx, args)

    def resolve_command(self, ctx: Any, args: list[str]) -> tuple[str | None, Any, list[str]]:
        """Return the subcommand. Hide the default command's name from usage messages."""
        name, command, rest = super().resolve_command(ctx, args)
        return "" if name == self.DEFAULT else name, command, rest


def complete_id(context: typer.Context, incomplete: str) -> list[str]:
    """Return the ids that begin with `incomplete`, for shell completion."""
    known_packs: KnownPacks = context.obj
    try:
        challenges = known_packs.catalogue().challenges
    except DrillError:  # `--pack` names a folder that is not a pack; the command will report it
        return []
    return [challenge.id for challenge in challenges if challenge.id.startswith(incomplete)]


ChallengeId = Annotated[
    str, typer.Argument(metavar="ID", help="The challenge, e.g. gqa.", autocompletion=complete_id)
]
LearnerFile = Annotated[
    Path | None,
    typer.Argument(metavar="[FILE]", help="Your file; by default the path of the stub."),
]
SeedOfCases = Annotated[
    int | None,
    typer.Option(
        "--seed", min=0, help="Use the cases of this seed; by default those of your last attempt."
    ),
]
CaseNumber = Annotated[
    int | None,
    typer.Option(
        "--case", help="Use the case with this number; by default the first case that fails."
    ),
]
