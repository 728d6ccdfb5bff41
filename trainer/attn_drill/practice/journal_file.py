"""Open the file of the journal, one process at a time, and migrate it to this version."""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from attn_drill.practice.old_journal import KINDS, Row, fact_rows, rows_of_tables, typed_events

VERSION = 6  # versions 1 to 4 had a table for each kind of fact
# `data` is the whole fact as JSON. The other columns are for queries.
_SCHEMA = (
    "CREATE TABLE fact (id TEXT PRIMARY KEY NOT NULL, at REAL NOT NULL, kind TEXT NOT NULL, "
    "subject TEXT NOT NULL, data TEXT NOT NULL)",
    "CREATE INDEX fact_by_subject ON fact (subject, at)",
)
_LOCK_TRIES, _LOCK_SECONDS = 500, 0.01


class NewerJournalError(Exception):
    """Raised if a later attn-drill wrote the journal, in another form."""


def open_journal(path: Path) -> tuple[sqlite3.Connection, str | None]:
    """Open or create the journal. Return a connection, and a sentence about a problem or None.

    Raises:
        sqlite3.Error, OSError, NewerJournalError: If no journal can be kept at this path.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without the lock, two processes that create, migrate or set aside the same file could
    # rename each other's files, or find the file locked.
    with _alone(path.parent):
        try:
            return _opened(path), None
        except sqlite3.DatabaseError as error:
            # Leave the file alone if only the disk is full, or the folder read-only.
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
            if code not in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
                raise
            aside = _set_aside(path)
            trouble = (
                f"{path} cannot be read as a journal ({error}). "
                f"It is kept as {aside.name}, and a new journal was created."
            )
        return _opened(path), trouble


def read_rows(connection: sqlite3.Connection) -> list[Row]:
    """Return the facts of a journal of any version, in the order of recording."""
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    if version < 5:
        return list(fact_rows(rows_of_tables(connection)))
    rows = connection.execute("SELECT * FROM fact ORDER BY rowid").fetchall()
    return list(typed_events(rows)) if version < VERSION else rows


def _opened(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=5.0)
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > VERSION:
            raise NewerJournalError(
                f"it has version {version}, but this attn-drill knows versions up to {VERSION}: "
                "upgrade attn-drill"
            )
        connection.execute("PRAGMA journal_mode = WAL")
        # In WAL mode with NORMAL, a killed process loses nothing. A power cut loses at most the
        # last entries, and never damages the file.
        connection.execute("PRAGMA synchronous = NORMAL")
        copy = path.with_name(f"{path.stem}.version-{version}{path.suffix}")
        if 0 < version < VERSION and not copy.exists():
            # An older attn-drill goes on with this copy.
            part = copy.with_name(f"{copy.name}.part")
            part.unlink(missing_ok=True)  # from a process that was killed here
            connection.execute("VACUUM INTO ?", (str(part),))
            os.replace(part, copy)
        if version < VERSION:
            _migrate(connection)
        connection.execute("SELECT COUNT(*) FROM fact")
    except BaseException:
        connection.close()
        raise
    return connection


def _migrate(connection: sqlite3.Connection) -> None:
    """Create the table, and move the rows of an old journal into it, in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        if connection.execute("PRAGMA user_version").fetchone()[0] == VERSION:
            return  # another process was faster
        rows = read_rows(connection)
        for table in ("fact", *KINDS):
            connection.execute(f"DROP TABLE IF EXISTS {table}")
        for statement in _SCHEMA:
            connection.execute(statement)
        connection.executemany("INSERT INTO fact VALUES (?, ?, ?, ?, ?)", rows)
        connection.execute(f"PRAGMA user_version = {VERSION}")


@contextmanager
def _alone(folder: Path) -> Iterator[None]:
    """Let one process at a time into the block, if the system can lock files.

    Stop waiting for the lock after 5 s, so that a process that hangs blocks no other for long.
    """
    try:
        import fcntl
    except ImportError:  # Windows
        yield
        return
    with (folder / "journal.lock").open("w") as lock:
        for _ in range(_LOCK_TRIES):
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                time.sleep(_LOCK_SECONDS)
            except OSError:
                break  # a file system without locks
        yield


def _set_aside(path: Path) -> Path:
    """Rename a broken journal and its -wal and -shm files to a free name, and return the name."""
    copy_number = 1
    while (aside := path.with_name(f"{path.stem}.broken-{copy_number}{path.suffix}")).exists():
        copy_number += 1
    # The journal comes last: a new journal must not begin while the old -wal file is still there.
    for ending in ("-wal", "-shm", ""):
        part = path.with_name(path.name + ending)
        if part.exists():
            os.rename(part, aside.with_name(aside.name + ending))
    return aside
