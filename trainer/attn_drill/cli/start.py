"""`attn-drill start` hands out a stub to practise, and `attn-drill reset` a fresh one."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from attn_drill.app.settings import settings
from attn_drill.app.start_challenge import hand_out_afresh, handed_out_level
from attn_drill.cli.parameters import ChallengeId, Desk, StubFolder, Watch, complete_id
from attn_drill.model.errors import DrillError
from attn_drill.packs.stub_levels import Level
from attn_drill.practice.facts import Started
from attn_drill.practice.progress import path_of

_LEVEL = typer.Option(
    help="How much help: arrange has shuffled lines, guided has steps, blank only signatures; "
    "by default as in your file, else as in config.toml.",
)
_HINTS_FIRST = typer.Option(
    "--hints-first/--no-hints-first",
    help="In the session, show line, question and cause of a failure with one key each; "
    "by default only at the level guided.",
    show_default=False,
)


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
    folder: StubFolder = Path("."),
    level: Annotated[Level | None, _LEVEL] = None,
    hints_first: Annotated[bool | None, _HINTS_FIRST] = None,
    watch: Watch = True,
) -> None:
    """Write the stub of a challenge, show its prompt, and stay to grade every save."""
    from attn_drill.cli.practise import can_draw_screen, start_challenge

    if challenge_id is None:
        if not can_draw_screen() or not watch or level is not None or folder != Path("."):
            raise DrillError(
                "Name a challenge, e.g. `attn-drill start sdpa`; `attn-drill list` shows all."
            )
        from attn_drill.cli.menu import menu

        menu(context)
        return
    desk: Desk = context.obj
    challenge = desk.packs.find(challenge_id)
    path = folder / challenge.file_name
    start_challenge(challenge, path, desk, level, watch=watch, hints_first=hints_first)


def reset(
    context: typer.Context,
    challenge_id: ChallengeId,
    folder: Annotated[
        Path | None, typer.Option("--dir", help="By default this folder, or that of `start`.")
    ] = None,
    level: Annotated[Level | None, _LEVEL] = None,
) -> None:
    """Write a fresh stub, and keep the old file under another name."""
    desk: Desk = context.obj
    challenge, journal = desk.packs.find(challenge_id), desk.journal
    path = (folder or Path()) / challenge.file_name
    started = path_of(journal.facts(Started, subject=challenge.id))
    if folder is None and started is not None and started.exists() and not path.exists():
        path = started
    level = level or handed_out_level(challenge, journal) or settings().level
    old_file = hand_out_afresh(challenge, path, journal, level)
    kept = f" Your old file is kept as {old_file}." if old_file else ""
    typer.echo(f"{path} is a fresh stub of the level {level}.{kept}")
