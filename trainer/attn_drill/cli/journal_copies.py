"""`attn-drill journal export` copies the journal, and `attn-drill journal import` adds a copy."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from attn_drill.app.warn import say, warn_journal
from attn_drill.model.errors import DrillError
from attn_drill.practice.journal import default_journal


def export_journal(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="The file to write.", show_default=False)
    ],
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")] = False,
) -> None:
    """Write a copy of the journal, for another machine or as a backup."""
    from attn_drill.practice.exchange import export

    journal = default_journal()
    count = export(journal, file, overwrite=force)
    warn_journal(journal)
    say(
        f"{file} is written: {'1 entry' if count == 1 else f'{count} entries'} of the journal. "
        f"`attn-drill journal import {shlex.quote(str(file))}` reads it on any machine."
    )


def import_journal(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="A file that `journal export` wrote.", show_default=False
        ),
    ],
) -> None:
    """Add an exported journal to this journal. Entries that exist are not added again."""
    from attn_drill.practice.exchange import read_export

    rows = read_export(file)
    journal = default_journal()
    new = journal.add_rows(rows)
    if new is None:
        raise DrillError(f"Nothing was imported. {journal.trouble}")
    warn_journal(journal)
    old = len(rows) - new
    say(
        f"{new} {'entry was' if new == 1 else 'entries were'} new, "
        f"{old} {'was' if old == 1 else 'were'} already in the journal."
    )
