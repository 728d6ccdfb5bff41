"""`attn-drill import FILE`: add the rows of an export to the journal."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Annotated

import typer

from trainer.app.warn import warn_journal
from trainer.model.errors import DrillError
from trainer.practice.journal import default_journal


def import_journal(
    file: Annotated[
        Path,
        typer.Argument(
            metavar="FILE", help="A file that `export` wrote; - is stdin.", show_default=False
        ),
    ],
) -> None:
    """Add an exported journal to this journal. Rows that exist are not added again."""
    from trainer.practice.exchange import read_export

    if str(file) == "-":
        rows = read_export(sys.stdin.buffer, "stdin")
    else:
        try:
            with file.open("rb") as stream:
                rows = read_export(stream, str(file))
        except OSError as error:
            raise DrillError(
                f"{file} cannot be read: {error.strerror or error}. Check its name and permissions."
            ) from None
    journal = default_journal()
    new = journal.add_rows(rows)
    if new is None:
        raise DrillError(f"Nothing was imported. {journal.trouble}")
    warn_journal(journal)
    old = len(rows) - new
    typer.echo(
        f"{new} {'row was' if new == 1 else 'rows were'} new, "
        f"{old} {'was' if old == 1 else 'were'} already in the journal."
    )
