"""Open the file of the journal.

One process at a time opens the file and migrates it to this version. A file that is no journal is
set aside.
"""

from __future__ import annotations

import os
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from trainer.practice.journal_schema import STEPS, VERSION

_LOCK_TRIES, _LOCK_SECONDS = 500, 0.01


def open_journal(path: Path) -> tuple[sqlite3.Connection, Path, str | None]:
    """Open the journal, or create it if the file does not exist.

    Returns:
        The connection, the path of the opened file, and a sentence that describes a problem or
        None.

    Raises:
        sqlite3.Error, OSError: If no journal can be kept at this path.
        NewerJournalError: If a later version wrote the journal, and also the separate journal
            that this version keeps next to it.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Without the lock, two processes that create, migrate or set aside the same file could
    # rename each other's files, or find the file locked.
    with _alone(path.parent):
        try:
            return _opened(path), path, None
        except NewerJournalError as error:
            older = path.with_name(f"{path.stem}.version-{VERSION}{path.suffix}")
            trouble = (
                f"The journal {path} is left unchanged: {error}. "
                f"Until then, progress is recorded in {older.name} in the same folder."
            )
            path = older
        except sqlite3.DatabaseError as error:
            if not _is_broken(error):
                raise
            aside = _set_aside(path)
            trouble = (
                f"{path} cannot be read as a journal ({error}). "
                f"It is kept as {aside.name}, and a new journal was created."
            )
        return _opened(path), path, trouble


def _opened(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=5.0)
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > VERSION:
            raise NewerJournalError(
                f"it has version {version}, but this attn-drill knows versions up to {VERSION}; "
                "upgrade attn-drill"
            )
        connection.execute("PRAGMA journal_mode = WAL")
        # In WAL mode with NORMAL, a killed process loses nothing. A power cut loses at most the
        # last entries, and never damages the file.
        connection.execute("PRAGMA synchronous = NORMAL")
        if version < VERSION:
            _migrate(connection)
        connection.execute("SELECT COUNT(*) FROM attempts")
    except BaseException:
        connection.close()
        raise
    return connection


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


def _migrate(connection: sqlite3.Connection) -> None:
    """Migrate the tables to this version in one transaction.

    Do nothing if another process has just done so.
    """
    connection.execute("BEGIN IMMEDIATE")
    try:
        for step in STEPS[connection.execute("PRAGMA user_version").fetchone()[0] :]:
            for statement in step:
                connection.execute(statement)
        connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.commit()
    except BaseException:
        connection.rollback()
        raise


def _is_broken(error: sqlite3.DatabaseError) -> bool:
    """Return whether the file itself is broken, and not a full disk or a read-only folder."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_CORRUPT,
    )


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


class NewerJournalError(Exception):
    """Raised if a later attn-drill wrote the journal."""
