"""Read the journals of versions 1 to 5 and their exports.

Versions 1 to 4 had a table for each kind of fact. A row gets the same id wherever it is read, so
nothing is there twice after a merge. Version 5 had one kind for all events of interviews.
"""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterable, Iterator
from contextlib import suppress
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
# The kind of fact for each kind of event of an interview.
_EVENTS = {
    "begun": "stage-began",
    "attempt": "stage-attempted",
    "hint": "stage-hinted",
    "why": "mistake-shown",
    "left": "stage-left",
    "ended": "stage-ended",
    "answer": "question-answered",
    "finished": "interview-finished",
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
    """Yield each row of a table as the row of a fact."""
    return typed_events(_rows_of_version_5(rows))


def typed_events(rows: Iterable[Row]) -> Iterator[Row]:
    """Yield the rows of version 5, with the events of interviews as facts of their own kinds.

    An event that cannot be read, because it was edited by hand, is kept as it is.
    """
    plans: dict[str, Any] = {}  # by the id of the interview, which comes before its events
    for row in rows:
        row_id, _, kind, subject, text = typed = row
        with suppress(ValueError, LookupError, TypeError, AttributeError):
            if kind == "interview":
                plans[row_id] = json.loads(text)["plan"]
            if kind == "event":
                typed = _typed_event(row, plans[subject])
        yield typed


def _typed_event(row: Row, plan: dict[str, Any]) -> Row:
    row_id, at, _, interview, text = row
    old = json.loads(text)
    values: dict[str, Any] = old["data"]
    kind = _EVENTS[old["event"]]
    subject = ""
    if "stage" in values:
        subject = plan["stages"][values.pop("stage")]["challenge"]
    elif kind == "question-answered":
        subject = values.pop("item")
    elif kind == "stage-left":
        kind = "questions-left"
    values["seconds"] = values.get("seconds") or 0.0
    fact = {"kind": kind, "subject": subject, "at": at, "id": row_id, "interview": interview}
    return row_id, at, kind, subject, json.dumps({**values, **fact}, ensure_ascii=False)


def _rows_of_version_5(rows: Iterable[OldRow]) -> Iterator[Row]:
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
