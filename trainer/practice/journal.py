"""The journal: what was started, tried, hinted and shown, in a small SQLite file.

Every entry is one transaction in WAL mode, so a kill at any moment loses nothing that was there. Where the journal cannot
be used (disk full, read-only home, a file that is no journal), everything else goes on: `trouble` says why, in a sentence.
"""

from __future__ import annotations

import os
import sqlite3
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, TypeVar

from trainer.core.words import Attempt

T = TypeVar("T")
VERSION = 1

_SCHEMA = """
CREATE TABLE started (challenge TEXT NOT NULL, path TEXT NOT NULL, at REAL NOT NULL);
CREATE TABLE attempts (
    challenge TEXT NOT NULL, at REAL NOT NULL, seed INTEGER NOT NULL, verdict TEXT NOT NULL,
    checks_passed INTEGER NOT NULL, checks_total INTEGER NOT NULL, source TEXT NOT NULL
);
CREATE TABLE hints (challenge TEXT NOT NULL, level INTEGER NOT NULL, at REAL NOT NULL);
CREATE TABLE solutions (challenge TEXT NOT NULL, at REAL NOT NULL);
CREATE INDEX attempts_by_challenge ON attempts (challenge, at);
"""

State = Literal["new", "started", "passed"]


@dataclass(frozen=True)
class Progress:
    """What the journal knows of one challenge."""

    state: State = "new"
    attempts: int = 0
    hints: int = 0


def home(environment: dict[str, str]) -> Path:
    """`ATTN_DRILL_HOME`, or the platform's folder for user data."""
    if chosen := environment.get("ATTN_DRILL_HOME"):
        return Path(chosen).expanduser()
    import platformdirs

    return Path(platformdirs.user_data_dir("attn-drill", appauthor=False))


class Journal:
    """The journal in a home folder, opened at the first need. No method raises because of the file."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "journal.sqlite3"
        self.trouble: str | None = None
        self._connection: sqlite3.Connection | None = None

    def record_start(self, challenge: str, path: Path, at: float) -> None:
        """A stub was handed out at this path."""
        self._write("INSERT INTO started VALUES (?, ?, ?)", challenge, str(path), at)

    def record_attempt(self, attempt: Attempt) -> None:
        """A file was graded."""
        self._write(
            "INSERT INTO attempts VALUES (?, ?, ?, ?, ?, ?, ?)",
            *(attempt.challenge, attempt.when, attempt.seed, attempt.verdict, attempt.checks_passed, attempt.checks_total, attempt.source),
        )

    def record_hint(self, challenge: str, level: int, at: float) -> None:
        """A hint was shown."""
        self._write("INSERT INTO hints VALUES (?, ?, ?)", challenge, level, at)

    def record_solution(self, challenge: str, at: float) -> None:
        """The reference was shown."""
        self._write("INSERT INTO solutions VALUES (?, ?)", challenge, at)

    def path_of(self, challenge: str) -> Path | None:
        """Where the stub was handed out last."""
        rows = self._read("SELECT path FROM started WHERE challenge = ? ORDER BY at DESC, rowid DESC LIMIT 1", challenge)
        return Path(rows[0][0]) if rows else None

    def last_seed(self, challenge: str) -> int | None:
        """The seed of the last attempt."""
        rows = self._read("SELECT challenge, seed FROM attempts WHERE challenge = ? ORDER BY at DESC, rowid DESC LIMIT 1", challenge)
        return int(rows[0][1]) if rows else None

    def highest_hint(self, challenge: str) -> int:
        """The highest level of hint shown since the last start, 0 before the first."""
        rows = self._read(
            "SELECT MAX(level) FROM hints WHERE challenge = ? AND at >= COALESCE((SELECT MAX(at) FROM started WHERE challenge = ?), 0)",
            *(challenge, challenge),
        )
        return int(rows[0][0] or 0) if rows else 0

    def progress(self) -> dict[str, Progress]:
        """State, attempts and hints of every challenge that the journal knows."""
        started = {row[0] for row in self._read("SELECT DISTINCT challenge FROM started")}
        attempts = {row[0]: (row[1], row[2]) for row in self._read("SELECT challenge, COUNT(*), SUM(verdict = 'passed') FROM attempts GROUP BY challenge")}
        hints = {row[0]: row[1] for row in self._read("SELECT challenge, COUNT(*) FROM hints GROUP BY challenge")}
        found: dict[str, Progress] = {}
        for challenge in started | attempts.keys() | hints.keys():
            count, passed = attempts.get(challenge, (0, 0))
            state: State = "passed" if passed else "started" if challenge in started or count else "new"
            found[challenge] = Progress(state, count, hints.get(challenge, 0))
        return found

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _write(self, statement: str, *values: object) -> None:
        def write(connection: sqlite3.Connection) -> None:
            with connection:
                connection.execute(statement, values)

        self._attempt(write)

    def _read(self, statement: str, *values: object) -> list[tuple[str, int, int]]:
        # Asking an absent journal must not make one.
        if self._connection is None and not self.path.exists():
            return []
        return self._attempt(lambda connection: connection.execute(statement, values).fetchall()) or []

    def _attempt(self, action: Callable[[sqlite3.Connection], T]) -> T | None:
        if self.trouble is not None:
            return None
        try:
            if self._connection is None:
                self._connection = self._open()
            return action(self._connection)
        except (sqlite3.Error, OSError, _NewerJournalError) as error:
            self.trouble = f"The journal {self.path} cannot be used ({error}); all else works, but progress is not kept. `attn-drill doctor` tells more."
            return None

    def _open(self) -> sqlite3.Connection:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        connection = sqlite3.connect(self.path, timeout=5.0)
        try:
            version = connection.execute("PRAGMA user_version").fetchone()[0]
            if version > VERSION:
                raise _NewerJournalError(f"it is of version {version}, this attn-drill knows version {VERSION}; upgrade attn-drill")
            connection.execute("PRAGMA journal_mode = WAL")
            connection.execute("PRAGMA synchronous = FULL")
            if version == 0:
                self._create(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _create(self, connection: sqlite3.Connection) -> None:
        """Make the tables, unless another process has just made them."""
        connection.execute("BEGIN IMMEDIATE")
        if connection.execute("PRAGMA user_version").fetchone()[0] == 0:
            for statement in _SCHEMA.split(";"):
                if statement.strip():
                    connection.execute(statement)
            connection.execute(f"PRAGMA user_version = {VERSION}")
        connection.commit()


class _NewerJournalError(Exception):
    """Written by a later attn-drill."""


def default_journal() -> Journal:
    """The journal of this user."""
    return Journal(home(dict(os.environ)))
