"""`attn-drill start ID`: write the stub, show the prompt, and on a terminal open a session.

The stub never overwrites a file.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trainer.app.open_packs import KnownPacks
from trainer.cli.parameters import complete_id
from trainer.model.errors import DrillError
from trainer.packs.stub_levels import Level
from trainer.practice.journal import default_journal


def start(
    context: typer.Context,
    challenge_id: Annotated[
        str | None,
        typer.Argument(
            metavar="[ID]",
            help="The challenge, e.g. gqa; without it, a menu.",
            autocompletion=complete_id,
        ),
    ] = None,
    folder: Annotated[Path, typer.Option("--dir", help="The folder for the stub.")] = Path("."),
    level: Annotated[
        Level | None,
        typer.Option(
            "--level",
            help="How much help: arrange has shuffled lines, guided has steps, "
            "blank has only signatures; by default standard.",
            show_default=False,
        ),
    ] = None,
    hints_first: Annotated[
        bool | None,
        typer.Option(
            "--hints-first/--no-hints-first",
            help="In the session, show line, question and cause of a failure with one key each; "
            "by default only at the level guided.",
            show_default=False,
        ),
    ] = None,
    watch: Annotated[
        bool,
        typer.Option("--watch/--no-watch", help="On a terminal, stay and grade every save."),
    ] = True,
) -> None:
    """Write the stub of a challenge, show its prompt, and stay to grade every save."""
    from trainer.cli.practise import can_draw_screen, start_challenge

    known_packs: KnownPacks = context.obj
    if challenge_id is None:
        if not can_draw_screen() or not watch or level is not None or folder != Path("."):
            raise DrillError(
                "Name a challenge, e.g. `attn-drill start sdpa`; `attn-drill list` shows all."
            )
        from trainer.cli.menu import menu

        menu(context)
        return
    challenge = known_packs.find(challenge_id)
    path = folder / challenge.file_name
    start_challenge(
        challenge,
        path,
        known_packs,
        default_journal(),
        level,
        watch=watch,
        hints_first=hints_first,
    )
