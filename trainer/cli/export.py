"""`attn-drill export FILE`: write a copy of the whole journal."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from trainer.app.warn import say, warn_journal
from trainer.model.errors import DrillError
from trainer.practice.journal import default_journal


def export_journal(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The file to write.", show_default=False)
    ],
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")] = False,
) -> None:
    """Write a copy of the journal, for another machine or as a backup."""
    from trainer.practice.exchange import export

    if str(file) == "-":  # stdout in version 0.2
        raise DrillError("An export is a SQLite file, so it needs a name: attn-drill export FILE.")
    journal = default_journal()
    count = export(journal, file, overwrite=force)
    warn_journal(journal)
    say(
        f"{file} is written: {'1 entry' if count == 1 else f'{count} entries'} of the journal. "
        f"`attn-drill import {shlex.quote(str(file))}` reads it on any machine."
    )
