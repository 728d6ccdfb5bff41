"""Export the journal as a copy, and read copies and earlier exports."""

from __future__ import annotations

import os
import secrets
import sqlite3
from contextlib import closing, suppress
from pathlib import Path

from attn_drill.model.errors import DrillError
from attn_drill.practice.journal import Journal
from attn_drill.practice.journal_file import read_rows
from attn_drill.practice.old_journal import Row, fact_rows, rows_of_lines


def export(journal: Journal, path: Path, *, overwrite: bool = False) -> int:
    """Write a copy of the journal, or leave the folder unchanged. Return the number of facts.

    Raises:
        DrillError: If there is no journal, if the file exists and `overwrite` is false, or if it
            cannot be written.
    """
    target = Path(os.path.realpath(path))  # replace the target of a link, not the link
    if target == Path(os.path.realpath(journal.path)):
        raise DrillError(f"{path} is the journal itself. Name another file.")
    if os.path.exists(target) and not os.path.isfile(target):
        raise DrillError(f"{path} is not a regular file. Name a new file.")
    if os.path.exists(target) and not overwrite:
        raise DrillError(
            f"{path} already exists and is left unchanged. "
            "Name another file, or add --force to replace it."
        )
    part = target.with_name(f".{secrets.token_hex(8)}.part")
    try:
        with part.open("xb") as file:
            count = journal.copy_to(part)
            if not count:
                reason = journal.trouble or f"There is no journal {journal.path} yet."
                raise DrillError(f"Nothing was exported. {reason}")
            os.fsync(file.fileno())
        os.replace(part, target)
    except OSError as error:
        raise DrillError(
            f"{path} cannot be written: {error.strerror or error}. "
            "Nothing was written. Name a file in another folder."
        ) from None
    finally:
        with suppress(OSError):
            part.unlink()
    return count


def read_export(path: Path) -> list[Row]:
    """Return the facts of a copy of a journal, or of an export of version 0.2 in JSON lines.

    Raises:
        DrillError: If the file cannot be read, or is neither of the two.
    """
    try:
        with path.open("rb") as file:
            start = file.readline(100)
            if start.startswith(b'{"attn-drill": "journal"'):
                return list(fact_rows(rows_of_lines(file)))
        if start.startswith(b"SQLite format 3\0"):
            uri = f"{path.resolve().as_uri()}?mode=ro"
            with closing(sqlite3.connect(uri, uri=True)) as connection:
                return read_rows(connection)
    except OSError as error:
        raise DrillError(
            f"{path} cannot be read: {error.strerror or error}. Check its name and permissions."
        ) from None
    except (sqlite3.Error, ValueError, LookupError, TypeError, AttributeError) as error:
        raise DrillError(
            f"{path} is damaged ({error}). Nothing was imported. Export the journal again."
        ) from None
    raise DrillError(
        f"{path} is not an exported journal. Nothing was imported. "
        "Name a file that `attn-drill journal export FILE` wrote."
    )
