"""`attn-drill reset ID`: a fresh stub; the old file is kept beside it."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from trainer.cli.common import complete_id, find, say_trouble
from trainer.content import packs
from trainer.content.levels import Level
from trainer.practice.files import write_afresh
from trainer.practice.journal import default_journal


def reset(
    challenge_id: Annotated[
        str,
        typer.Argument(metavar="ID", help="The challenge, e.g. gqa.", autocompletion=complete_id),
    ],
    folder: Annotated[
        Path | None,
        typer.Option(
            "--dir", help="The folder of the stub; by default this one, or where `start` put it."
        ),
    ] = None,
    level: Annotated[
        Level,
        typer.Option("--level", help="With steps as comments, as ever, or the signatures alone."),
    ] = "standard",
) -> None:
    """Write a fresh stub and keep the old file beside it."""
    challenge = find(challenge_id)
    journal = default_journal()
    path = _place(challenge.file_name, folder, journal.path_of(challenge.id))
    kept = write_afresh(path, packs.stub(challenge, level))
    journal.record_start(challenge.id, path.resolve(), time.time(), level)
    typer.echo(f"{path} is a fresh stub." + (f" Your old file is kept as {kept}." if kept else ""))
    say_trouble(journal)


def _place(name: str, folder: Path | None, started: Path | None) -> Path:
    if folder is not None:
        return folder / name
    here = Path(name)
    return started if started is not None and started.exists() and not here.exists() else here
