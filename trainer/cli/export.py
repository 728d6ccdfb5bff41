"""`attn-drill export [FILE]`: write the whole journal as JSON lines."""

from __future__ import annotations

import os
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from trainer.app.warn import warn_journal
from trainer.model.errors import DrillError
from trainer.practice.journal import default_journal


def export_journal(
    file: Annotated[
        Path | None,
        typer.Argument(
            metavar="[FILE]",
            help="The file to write; by default, or with -, stdout.",
            show_default=False,
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")] = False,
) -> None:
    """Write the journal as JSON lines, for a copy or another machine."""
    from trainer.practice.exchange import export_lines, save_export

    journal = default_journal()
    rows = journal.rows()
    if journal.trouble is not None and not rows:
        raise DrillError(f"Nothing was exported. {journal.trouble}")
    warn_journal(journal)
    lines = list(export_lines(rows))
    if file is None or str(file) == "-":
        sys.stdout.buffer.writelines(lines)
        return
    if (
        os.path.exists(file)
        and os.path.exists(journal.path)
        and os.path.samefile(file, journal.path)
    ):
        raise DrillError(f"{file} is the journal itself. Name another file.")
    save_export(file, lines, overwrite=force)
    count = "1 row" if len(rows) == 1 else f"{len(rows)} rows"
    typer.echo(
        f"{file} is written: {count} of the journal. "
        f"`attn-drill import {shlex.quote(str(file))}` reads it on any machine."
    )
