"""Keep the journal: a list of facts in a small SQLite file.

Every fact is one transaction in WAL mode, so a kill at any moment loses no earlier fact. A file
that is no journal is set aside, and a new journal begins. If no journal can be kept (full disk,
read-only home), everything else still works. `Journal.trouble` describes the problem in a sentence.
"""

from __future__ import annotations

import json
import os
import secrets
import sqlite3
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from typing import Any, TypeVar, overload

import msgspec

from attn_drill.model.errors import DrillError
from attn_drill.practice import _old_journal
from attn_drill.practice.facts import AnyFact, Fact

T = TypeVar("T")
F = TypeVar("F", bound=Fact)

VERSION = 6  # versions 1 to 4 had a table for each kind of fact
# `data` is the whole fact as JSON. The other columns are for queries.
_SCHEMA = (
    "CREATE TABLE fact (id TEXT PRIMARY KEY NOT NULL, at REAL NOT NULL, kind TEXT NOT NULL, "
    "subject TEXT NOT NULL, data TEXT NOT NULL)",
    "CREATE INDEX fact_by_subject ON fact (subject, at)",
)
_COUNT = "SELECT COUNT(*) FROM fact"
_LOCK_TRIES, _LOCK_SECONDS = 500, 0.01
_DECODER: msgspec.json.Decoder[Any] = msgspec.json.Decoder(AnyFact)


def home(environment: dict[str, str]) -> Path:
    """Return `ATTN_DRILL_HOME`, or the platform's folder for user data."""
    if chosen := environment.get("ATTN_DRILL_HOME"):
        # Path.expanduser raises an error if the user of `~user` does not exist.
        return Path(os.path.expanduser(chosen))
    import platformdirs

    return Path(platformdirs.user_data_dir("attn-drill", appauthor=False))


def default_journal() -> Journal:
    """Return the journal of this user."""
    return Journal(home(dict(os.environ)))


class Journal:
    """The journal in a home folder.

    The file is opened when it is first needed. A problem with the file raises no error: `facts`
    returns an empty list, and `trouble` is a sentence about the last problem.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "journal.sqlite3"
        self.trouble: str | None = None
        self._connection: sqlite3.Connection | None = None
        self._given_up = False

    def add(self, fact: Fact) -> str:
        """Add a fact, and return its id."""
        text = json.dumps(msgspec.to_builtins(fact), ensure_ascii=False)
        # SQLite stores no lone surrogates, as in a file name that is not UTF-8.
        data = text.encode("utf-8", "replace").decode()
        kind = str(fact.__struct_config__.tag)
        self.add_rows([(fact.id, fact.at, kind, fact.subject, data)])
        return fact.id

    def add_rows(self, rows: list[_old_journal.Row]) -> int | None:
        """Add all rows with new ids, or none. Return their number, or None without a journal."""

        def insert(connection: sqlite3.Connection) -> int:
            before = connection.total_changes
            with connection:
                connection.executemany("INSERT OR IGNORE INTO fact VALUES (?, ?, ?, ?, ?)", rows)
            return connection.total_changes - before

        return self._use(insert, may_create=True)

    @overload
    def facts(self, *, subject: str | None = None) -> list[Fact]: ...
    @overload
    def facts(self, *kinds: type[F], subject: str | None = None) -> list[F]: ...
    def facts(self, *kinds: type[F], subject: str | None = None) -> list[F]:
        """Return facts in order of time; at the same time, in the order of recording.

        Skip facts of a later version that this version does not know. Without `kinds` or without a
        `subject`, return the facts of all.
        """
        conditions, values = ["1"], []
        if kinds:
            conditions.append(f"kind IN ({', '.join('?' * len(kinds))})")
            values += [str(kind.__struct_config__.tag) for kind in kinds]
        if subject is not None:
            conditions.append("subject = ?")
            values.append(subject)
        query = f"SELECT data FROM fact WHERE {' AND '.join(conditions)} ORDER BY rowid"
        rows = self._use(lambda connection: connection.execute(query, values).fetchall())
        facts: list[F] = []
        for (data,) in rows or ():
            with suppress(msgspec.DecodeError):
                facts.append(_DECODER.decode(data))
        # SQLite takes longer to sort, because it sorts the texts of the attempts too.
        return sorted(facts, key=lambda fact: fact.at)

    def last(self, *kinds: type[F], subject: str | None = None) -> F | None:
        """Return the last of these facts, or None."""
        facts = self.facts(*kinds, subject=subject)
        return facts[-1] if facts else None

    def copy_to(self, path: Path) -> int | None:
        """Write a copy to a new file. Return the number of its facts, or None without a journal."""

        def copy(connection: sqlite3.Connection) -> int:
            connection.execute("VACUUM INTO ?", (str(path),))
            return int(connection.execute(_COUNT).fetchone()[0])

        return self._use(copy)

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _use(
        self, action: Callable[[sqlite3.Connection], T], *, may_create: bool = False
    ) -> T | None:
        """Do an action, unless there is no journal: a question must not create one."""
        if self._given_up:
            return None
        try:
            if self._connection is None:
                if not may_create and not self.path.exists():
                    return None
                self._connection, self.trouble = _open(self.path)
        except (sqlite3.Error, OSError) as error:
            self._given_up = True
            self.trouble = (
                f"The journal {self.path} cannot be used ({error}). Everything else works, "
                "but progress is not kept. `attn-drill doctor` shows more."
            )
            return None
        try:
            return action(self._connection)
        except (sqlite3.Error, OSError) as error:
            # A full disk, or another process that is busy: the next entry may succeed.
            self.trouble = (
                f"The journal {self.path} could not be used just now ({error}). Everything else "
                "works, but this entry was not kept."
            )
            self.close()
            return None


# Export and import


def export(journal: Journal, path: Path, *, overwrite: bool = False) -> int:
    """Write a copy of the journal, or leave the folder unchanged. Return the number of facts."""
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


def read_export(path: Path) -> list[_old_journal.Row]:
    """Return the facts of a copy of a journal, or of an export of version 0.2 in JSON lines.

    Raise a DrillError if the file cannot be read, or is neither of the two.
    """
    try:
        with path.open("rb") as file:
            start = file.readline(100)
            if start.startswith(b'{"attn-drill": "journal"'):
                return list(_old_journal.fact_rows(_old_journal.rows_of_lines(file)))
        if start.startswith(b"SQLite format 3\0"):
            uri = f"{path.resolve().as_uri()}?mode=ro"
            with closing(sqlite3.connect(uri, uri=True)) as connection:
                return _rows(connection)
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


# The file


def _open(path: Path) -> tuple[sqlite3.Connection, str | None]:
    """Open or create the journal. Return a connection, and a sentence about a problem or None.

    Raise sqlite3.Error or OSError if no journal can be kept at this path.
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


def _opened(path: Path) -> sqlite3.Connection:
    connection = sqlite3.connect(path, timeout=5.0)
    try:
        version = _version(connection)
        if version > VERSION:
            raise sqlite3.NotSupportedError(
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
        connection.execute(_COUNT)
    except BaseException:
        connection.close()
        raise
    return connection


def _version(connection: sqlite3.Connection) -> int:
    return int(connection.execute("PRAGMA user_version").fetchone()[0])


def _rows(connection: sqlite3.Connection) -> list[_old_journal.Row]:
    """Return the facts of a journal of any version, in the order of recording."""
    version = _version(connection)
    if version < 5:
        return list(_old_journal.fact_rows(_old_journal.rows_of_tables(connection)))
    rows = connection.execute("SELECT * FROM fact ORDER BY rowid").fetchall()
    return list(_old_journal.typed_events(rows)) if version < VERSION else rows


def _migrate(connection: sqlite3.Connection) -> None:
    """Create the table, and move the rows of an old journal into it, in one transaction."""
    connection.execute("BEGIN IMMEDIATE")
    with connection:
        if _version(connection) == VERSION:
            return  # another process was faster
        rows = _rows(connection)
        for table in ("fact", *_old_journal.KINDS):
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
