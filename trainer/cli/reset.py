"""`attn-drill reset ID`: write a fresh stub and keep the old file."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trainer.app.open_packs import KnownPacks
from trainer.app.start_challenge import hand_out_afresh, handed_out_level
from trainer.app.warn import warn_journal
from trainer.cli.parameters import ChallengeId
from trainer.packs.stub_levels import Level
from trainer.practice.facts import Started
from trainer.practice.journal import default_journal
from trainer.practice.progress import path_of


def reset(
    context: typer.Context,
    challenge_id: ChallengeId,
    folder: Annotated[
        Path | None,
        typer.Option(
            "--dir", help="The folder of the stub; by default this folder, or that of `start`."
        ),
    ] = None,
    level: Annotated[
        Level | None,
        typer.Option(
            "--level",
            help="How much help: arrange has shuffled lines, guided has steps, "
            "blank has only signatures; by default as in the file that you have.",
            show_default=False,
        ),
    ] = None,
) -> None:
    """Write a fresh stub, and keep the old file under another name."""
    known_packs: KnownPacks = context.obj
    challenge = known_packs.find(challenge_id)
    journal = default_journal()
    path = _stub_place(
        challenge.file_name, folder, path_of(journal.facts(Started, subject=challenge.id))
    )
    level = level or handed_out_level(challenge, journal) or "standard"
    old_file = hand_out_afresh(challenge, path, journal, level)
    kept = f" Your old file is kept as {old_file}." if old_file else ""
    typer.echo(f"{path} is a fresh stub of the level {level}.{kept}")
    warn_journal(journal)


def _stub_place(name: str, folder: Path | None, started: Path | None) -> Path:
    """Return the path of the stub in `folder`.

    Without `folder` this is the stub that `start` wrote, if it exists and this folder has no file
    of that name. Otherwise it is a file in this folder.
    """
    if folder is not None:
        return folder / name
    here = Path(name)
    return started if started is not None and started.exists() and not here.exists() else here
