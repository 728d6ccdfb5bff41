"""`attn-drill import FILE`: add the entries of an export to the journal."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from trainer.app.warn import say, warn_journal
from trainer.model.errors import DrillError
from trainer.practice.journal import default_journal


def import_journal(
    file: Annotated[
        Path,
        typer.Argument(metavar="FILE", help="A file that `export` wrote.", show_default=False),
    ],
) -> None:
    """Add an exported journal to this journal. Entries that exist are not added again."""
    from trainer.practice.exchange import read_export

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
