"""`attn-drill journal export` copies the journal, and `attn-drill journal import` adds a copy."""

from __future__ import annotations

import shlex
from pathlib import Path
from typing import Annotated

import typer

from attn_drill.app.warn import say
from attn_drill.cli.parameters import Desk
from attn_drill.model.errors import DrillError


def export_journal(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="The file to write.")],
    force: Annotated[bool, typer.Option("--force", help="Replace FILE if it exists.")] = False,
) -> None:
    """Write a copy of the journal, for another machine or as a backup."""
    from attn_drill.practice.exchange import export

    desk: Desk = context.obj
    count = export(desk.journal, file, overwrite=force)
    say(
        f"{file} is written: {count} {'entry' if count == 1 else 'entries'} of the journal. "
        f"`attn-drill journal import {shlex.quote(str(file))}` reads it on any machine."
    )


def import_journal(
    context: typer.Context,
    file: Annotated[Path, typer.Argument(metavar="FILE", help="A file of `journal export`.")],
) -> None:
    """Add an exported journal to this journal. Entries that exist are not added again."""
    from attn_drill.practice.exchange import read_export

    desk: Desk = context.obj
    rows = read_export(file)
    new = desk.journal.add_rows(rows)
    if new is None:
        raise DrillError("Nothing was imported. The journal cannot be used.")
    old = len(rows) - new
    say(
        f"{new} {'entry was' if new == 1 else 'entries were'} new, "
        f"{old} {'was' if old == 1 else 'were'} already in the journal."
    )
