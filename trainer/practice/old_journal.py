"""Read the journals of versions 1 to 4 and their exports, which had a table for each kind of fact.

A row gets the same id wherever it is read, so nothing is there twice after a merge.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from typing import Any

Row = tuple[str, float, str, str, str]  # the id, time, kind, subject and data of a fact
OldRow = tuple[str, dict[str, Any]]  # the table and the columns

# The kind of fact for each table. A row comes after the row whose id it has in a column.
KINDS = {
    "started": "started",
    "resumed": "resumed",
    "attempts": "attempted",
    "replaced": "replaced",
    "diagnoses": "diagnosed",
    "hints": "hinted",
    "solutions": "revealed",
    "reviews": "reviewed",
    "overrules": "overruled",
    "hunts": "hunted",
    "interviews": "interview",
    "interview_events": "event",
}
_JSON = ("checks", "mistakes", "plan", "data")


def rows_of_tables(connection: sqlite3.Connection) -> Iterator[OldRow]:
    """Yield the rows of an old journal. Early versions have fewer tables and columns."""
    query = "SELECT name FROM sqlite_master WHERE type = 'table'"
    tables = {name for (name,) in connection.execute(query)}
    for table in KINDS:
        if table in tables:
            cursor = connection.execute(f"SELECT rowid AS number, * FROM {table} ORDER BY rowid")
            columns = [column[0] for column in cursor.description]
            yield from ((table, dict(zip(columns, row, strict=True))) for row in cursor)


def rows_of_lines(lines: Iterable[bytes]) -> Iterator[OldRow]:
    """Yield the rows of an export in JSON lines; the header is left out."""
    for line in lines:
        row = json.loads(line)
        yield row.pop("table"), row


def fact_rows(rows: Iterable[OldRow]) -> Iterator[Row]:
    """Yield each old row as the row of a fact.

    Raises:
        ValueError, KeyError, TypeError, AttributeError: If no old version wrote such a row.
    """
    seen: dict[str, tuple[str, float]] = {}  # the subject and the time of each row
    for table, columns in rows:
        row = {name: _value(name, value) for name, value in columns.items()}
        number = row.pop("number", 0)
        row_id = _unique(table, row.pop("id", None) or f"1-{number}-{row['at']:.6f}")
        named = row.get("attempt") or row.get("review")
        subject, at = seen.get(named or "", ("", 0.0))
        for name in ("challenge", "item", "interview"):
            subject = row.pop(name, subject)
        at = row.pop("at", at)
        seen[row_id] = subject, at
        if "kind" in row:
            row["event"] = row.pop("kind")
        kind = KINDS[table]
        data = {"kind": kind, "subject": subject, "at": at, "id": row_id, **row}
        yield row_id, at, kind, subject, json.dumps(data, ensure_ascii=False)


def _value(name: str, value: Any) -> Any:
    if name in _JSON:
        try:
            return json.loads(value)
        except ValueError:  # edited by hand: the fact is kept, and skipped by each question
            return value
    if name == "solution":
        return bool(value)
    return _unique(f"{name}s", value) if name in ("attempt", "review") else value


def _unique(table: str, row_id: str) -> str:
    """Return an id that no other table has. An id of version 1 is unique in its table only."""
    return f"{table} {row_id}" if row_id.startswith("1-") else row_id
