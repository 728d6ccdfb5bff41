"""`attn-drill reset ID`: a fresh stub; the old file is kept beside it."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Annotated

import typer

from trainer.cli.common import complete_id, find, say_trouble, write_new
from trainer.content import packs
from trainer.core.words import DrillError
from trainer.practice.journal import default_journal


def reset(
    challenge_id: Annotated[str, typer.Argument(metavar="ID", help="The challenge, e.g. gqa.", autocompletion=complete_id)],
    folder: Annotated[Path | None, typer.Option("--dir", help="The folder of the stub; by default this one, or where `start` put it.")] = None,
) -> None:
    """Write a fresh stub and keep the old file beside it."""
    challenge = find(challenge_id)
    journal = default_journal()
    path = _place(challenge.file_name, folder, journal.path_of(challenge.id))
    if path.is_dir():
        raise DrillError(f"{path} is a folder. Choose another folder with --dir.")
    kept = keep_aside(path) if path.exists() else None
    try:
        write_new(path, packs.stub(challenge))
    except DrillError:
        if kept is not None:
            os.replace(kept, path)
        raise
    journal.record_start(challenge.id, path.resolve(), time.time())
    typer.echo(f"{path} is a fresh stub." + (f" Your old file is kept as {kept}." if kept else ""))
    say_trouble(journal)


def _place(name: str, folder: Path | None, started: Path | None) -> Path:
    if folder is not None:
        return folder / name
    here = Path(name)
    return started if started is not None and started.exists() and not here.exists() else here


def keep_aside(path: Path) -> Path:
    """Rename to the first free `name.old-N.py` beside it; never over a file."""
    number = 1
    while True:
        target = path.with_name(f"{path.stem}.old-{number}{path.suffix}")
        try:
            os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_WRONLY))  # reserve the name
        except FileExistsError:
            number += 1
            continue
        except OSError as error:
            raise DrillError(f"{path} cannot be kept aside: {error.strerror or error}. Nothing was changed.") from None
        os.replace(path, target)
        return target
