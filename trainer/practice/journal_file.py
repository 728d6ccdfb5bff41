"""The journal's file: opened by one process at a time, brought up to this version, set aside where it is no journal."""

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
    """Open the journal, made anew where there is none: the connection, the path that was opened, and what was the matter, in a sentence.

    Raises:
        sqlite3.Error, OSError: where no journal can be kept there.
        NewerJournalError: where the one that this version keeps beside a newer one is newer itself.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Two that make, migrate or set aside one file at once would take each other's files away, or find it locked.
    with _alone(path.parent):
        try:
            return _opened(path), path, None
        except NewerJournalError as error:
            older = path.with_name(f"{path.stem}.version-{VERSION}{path.suffix}")
            trouble = f"The journal {path} is left as it is: {error}. Until then progress is kept in {older.name} beside it."
            path = older
        except sqlite3.DatabaseError as error:
            if not _is_broken(error):
                raise
            aside = _set_aside(path)
            trouble = f"{path} was no journal that can be read ({error}). It is kept as {aside.name}, and a new journal was begun."
        return _opened(path), path, trouble


def _opened(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=5.0)
    try:
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        if version > VERSION:
            raise NewerJournalError(
                f"it is of version {version}, this attn-drill knows version {VERSION}; upgrade attn-drill"
            )
        connection.execute("PRAGMA journal_mode = WAL")
        # In WAL mode a killed process loses nothing with it, and a power cut the last entries at most, not the file.
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
    """Only one process at a time is in here, as far as the system can lock; one that hangs keeps nobody out for long."""
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
    """Bring the tables up to this version in one transaction, unless another process has just done so."""
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
    """Whether the file itself is broken, and not the disk full or the folder read-only."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF in (
        sqlite3.SQLITE_NOTADB,
        sqlite3.SQLITE_CORRUPT,
    )


def _set_aside(path: Path) -> Path:
    """Rename a broken journal, with what belongs to it, to a name that is free."""
    number = 1
    while (aside := path.with_name(f"{path.stem}.broken-{number}{path.suffix}")).exists():
        number += 1
    for ending in (
        "-wal",
        "-shm",
        "",
    ):  # the journal last: a new one must not be begun beside an old -wal
        beside = path.with_name(path.name + ending)
        if beside.exists():
            os.rename(beside, aside.with_name(aside.name + ending))
    return aside


class NewerJournalError(Exception):
    """Written by a later attn-drill."""
