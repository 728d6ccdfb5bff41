"""Parameters that several commands take: `--pack DIR`, the challenge, the learner's file."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperOption

from trainer.app.open_packs import KnownPacks, open_packs
from trainer.model.errors import DrillError

PACK_HELP = "Take the pack in this folder too, before all others; may be given several times."


def name_packs(context: typer.Context, folders: Iterable[Path | str] | None) -> None:
    """Make the folders of `--pack` known to this command, after those named before the command.

    The packs travel as `context.obj`, which a subcommand inherits.
    """
    known_packs: KnownPacks = context.obj or open_packs()
    context.obj = known_packs.naming(folders or ())


# All commands share this object: it stores nothing of a call.
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
    """A command that takes `--pack DIR`, as the program itself does before the command's name."""

    def __init__(
        self, *arguments: Any, params: Sequence[Any] | None = None, **options: Any
    ) -> None:
        super().__init__(*arguments, params=[*(params or ()), _PACK_OPTION], **options)


def complete_id(context: typer.Context, incomplete: str) -> list[str]:
    """Return the ids that begin with `incomplete`, for shell completion."""
    known_packs: KnownPacks = context.obj
    try:
        challenges = known_packs.catalogue().challenges
    except DrillError:  # `--pack` names no pack; the command will report it
        return []
    return [challenge.id for challenge in challenges if challenge.id.startswith(incomplete)]


ChallengeId = Annotated[
    str, typer.Argument(metavar="ID", help="The challenge, e.g. gqa.", autocompletion=complete_id)
]
LearnerFile = Annotated[
    Path | None,
    typer.Argument(metavar="[FILE]", help="Your file; by default the stub's place."),
]
SeedOfCases = Annotated[
    int | None,
    typer.Option("--seed", min=0, help="The cases of this seed; by default of your last attempt."),
]
CaseNumber = Annotated[
    int | None,
    typer.Option(
        "--case", help="This case, by its number in a report; by default the first that fails."
    ),
]
