"""The journal: what was started, tried, hinted, shown and reviewed, in a small SQLite file.

Every entry is one transaction in WAL mode, so a kill at any moment loses nothing that was there. A file that is no journal is
set aside and a new one begun; one of a later version stays where it is, and this version keeps its own beside it. Where no
journal can be kept (disk full, read-only home), everything else goes on. `trouble` says what was the matter, in a sentence.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from trainer.model.attempt import Attempt
from trainer.model.checks import Status
from trainer.model.errors import DrillError
from trainer.practice.journal_file import NewerJournalError, open_journal
from trainer.practice.journal_schema import COLUMNS

T = TypeVar("T")
Row = tuple[Any, ...]

State = Literal["new", "started", "passed"]
_COUNTS = (
    "id NOT IN (SELECT attempt FROM replaced)"  # an attempt whose text was not replaced at once
)
_PAUSE_SECONDS = 15 * 60  # of a longer gap between two entries, this much counts as work


@dataclass(frozen=True)
class ChallengeProgress:
    """What the journal knows of one challenge."""

    state: State = "new"
    attempts: int = 0
    hints: int = 0


@dataclass(frozen=True)
class Since:
    """What happened to a challenge since its stub was handed out last.

    seconds   at work, until the last entry; a long gap without an entry counts as a pause
    hint      the highest level of hint, 0 for none
    failed    attempts that did not pass
    """

    started_at: float | None = None
    last_at: float | None = None
    seconds: float = 0.0
    attempts: int = 0
    failed: int = 0
    passed: bool = False
    hint: int = 0
    solution: bool = False

    def seconds_at(self, now: float) -> float:
        """Seconds at work if the next entry comes now; a clock that went backwards adds none."""
        return (
            self.seconds
            if self.last_at is None
            else self.seconds + min(max(0.0, now - self.last_at), _PAUSE_SECONDS)
        )


@dataclass(frozen=True)
class Review:
    """One review of an item: `challenge:ID`, `question:ID` or `line:ID:MISTAKE`. `rating`: 1 again to 4 easy, as overruled if it was."""

    id: str
    item: str
    at: float
    rating: int
    reason: str


def home(environment: dict[str, str]) -> Path:
    """`ATTN_DRILL_HOME`, or the platform's folder for user data."""
    if chosen := environment.get("ATTN_DRILL_HOME"):
        return Path(
            os.path.expanduser(chosen)
        )  # Path.expanduser raises where there is no such user
    import platformdirs

    return Path(platformdirs.user_data_dir("attn-drill", appauthor=False))


class Journal:
    """The journal in a home folder, opened at the first need. No method raises because of the file."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "journal.sqlite3"
        self.trouble: str | None = None
        self._connection: sqlite3.Connection | None = None
        self._given_up = False

    # What happened

    def record_start(self, challenge: str, path: Path, at: float, level: str = "standard") -> None:
        """A stub was handed out at this path."""
        self._insert("started", challenge, at, str(path), level)

    def record_attempt(self, attempt: Attempt) -> str:
        """A file was graded; returns the attempt's id."""
        return self._insert(
            "attempts",
            *(
                attempt.challenge,
                attempt.when,
                attempt.seed,
                attempt.verdict,
                json.dumps(dict(attempt.checks)),
            ),
            *(
                attempt.checks_passed,
                attempt.checks_total,
                attempt.seconds,
                attempt.hints,
                int(attempt.solution),
                attempt.purpose,
                attempt.source,
            ),
        )

    def record_replaced(self, attempt: str, at: float) -> None:
        """Note that the text of an attempt was replaced within seconds, so that the attempt does not count."""
        self._insert("replaced", attempt, at)

    def record_diagnosis(self, attempt: str, mistakes: Sequence[str], line: int | None) -> None:
        """The known mistakes that an attempt showed, and the line of its file."""
        self._insert("diagnoses", attempt, json.dumps(list(mistakes)), line)

    def record_hint(self, challenge: str, level: int, at: float) -> None:
        """A hint was shown."""
        self._insert("hints", challenge, at, level)

    def record_solution(self, challenge: str, at: float) -> None:
        """The reference was shown."""
        self._insert("solutions", challenge, at)

    def record_review(self, item: str, at: float, rating: int, reason: str) -> str:
        """An item was reviewed; returns the review's id."""
        return self._insert("reviews", item, at, rating, reason)

    def overrule(self, review: str, at: float, rating: int) -> None:
        """The learner gives a review another rating."""
        self._insert("overrules", review, at, rating)

    def record_hunt(self, challenge: str, at: float, mistakes: Sequence[str], path: Path) -> None:
        """A broken reference was handed out for repair."""
        self._insert("hunts", challenge, at, json.dumps(list(mistakes)), str(path))

    def record_interview(self, at: float, plan: Mapping[str, Any]) -> str:
        """An interview began; returns its id."""
        return self._insert("interviews", at, json.dumps(plan))

    def record_event(self, interview: str, at: float, kind: str, data: Mapping[str, Any]) -> None:
        """Something happened in an interview."""
        self._insert("interview_events", interview, at, kind, json.dumps(data))

    # What is known

    def path_of(self, challenge: str) -> Path | None:
        """Where the stub was handed out last."""
        rows = self._read(
            "SELECT path FROM started WHERE challenge = ? ORDER BY at DESC, rowid DESC LIMIT 1",
            challenge,
        )
        return Path(rows[0][0]) if rows else None

    def level_of(self, challenge: str) -> str | None:
        """The level of the stub that was handed out last."""
        rows = self._read(
            "SELECT level FROM started WHERE challenge = ? ORDER BY at DESC, rowid DESC LIMIT 1",
            challenge,
        )
        return str(rows[0][0]) if rows else None

    def last_seed(self, challenge: str) -> int | None:
        """Return the seed of the last attempt, also of one that does not count; a hunt's file is another one."""
        rows = self._read(
            "SELECT seed FROM attempts WHERE challenge = ? AND purpose <> 'hunt' ORDER BY at DESC, rowid DESC LIMIT 1",
            challenge,
        )
        return int(rows[0][0]) if rows else None

    def since_start(self, challenge: str) -> Since:
        """What happened since the last start, and all that there is where there was none. A hunt's attempts are not among it."""
        starts = self._read("SELECT MAX(at) FROM started WHERE challenge = ?", challenge)
        start = starts[0][0] if starts else None
        after = (challenge, start if start is not None else 0.0)
        columns = f"at, seconds, verdict, {_COUNTS}"  # time was spent on an attempt that does not count, too
        attempts = self._read(
            f"SELECT {columns} FROM attempts WHERE challenge = ? AND at >= ? AND purpose <> 'hunt' ORDER BY at, rowid",
            *after,
        )
        verdicts = [row[2] for row in attempts if row[3]]
        hints = self._read("SELECT at, level FROM hints WHERE challenge = ? AND at >= ?", *after)
        solutions = self._read("SELECT at FROM solutions WHERE challenge = ? AND at >= ?", *after)
        worked = Since(last_at=start)
        entries = [
            *((row[0], row[1]) for row in attempts),
            *((row[0], None) for row in [*hints, *solutions]),
        ]
        for at, seconds in sorted(entries, key=lambda entry: entry[0]):
            worked = Since(
                last_at=at, seconds=worked.seconds_at(at) if seconds is None else seconds
            )
        return Since(
            started_at=start,
            last_at=worked.last_at,
            seconds=worked.seconds,
            attempts=len(verdicts),
            failed=sum(verdict != "passed" for verdict in verdicts),
            passed="passed" in verdicts,
            hint=max((int(row[1]) for row in hints), default=0),
            solution=bool(solutions),
        )

    def starts(self) -> dict[str, tuple[float, ...]]:
        """When the stub of every challenge was handed out, in order of time."""
        found: dict[str, tuple[float, ...]] = {}
        for challenge, at in self._read("SELECT challenge, at FROM started ORDER BY at"):
            found[challenge] = (*found.get(challenge, ()), at)
        return found

    def progress(self) -> dict[str, ChallengeProgress]:
        """State, attempts and hints of every challenge that the journal knows. Who repairs a reference in a hunt has not written one."""
        started = {row[0] for row in self._read("SELECT DISTINCT challenge FROM started")}
        counts = f"SELECT challenge, COUNT(*), SUM(verdict = 'passed') FROM attempts WHERE purpose <> 'hunt' AND {_COUNTS} GROUP BY challenge"
        attempts = {row[0]: (row[1], row[2]) for row in self._read(counts)}
        hints = {
            row[0]: row[1]
            for row in self._read("SELECT challenge, COUNT(*) FROM hints GROUP BY challenge")
        }
        found: dict[str, ChallengeProgress] = {}
        for challenge in started | attempts.keys() | hints.keys():
            count, passed = attempts.get(challenge, (0, 0))
            state: State = (
                "passed" if passed else "started" if challenge in started or count else "new"
            )
            found[challenge] = ChallengeProgress(state, count, hints.get(challenge, 0))
        return found

    def attempts(self, *, replaced: bool = False) -> list[Attempt]:
        """Return the attempts in order, without their sources, with the mistakes that were named.

        Args:
            replaced: also those that do not count, because their text was replaced within seconds.
        """
        mistakes = {
            row[0]: tuple(json.loads(row[1]))
            for row in self._read("SELECT attempt, mistakes FROM diagnoses ORDER BY rowid")
        }
        columns = "id, challenge, at, seed, verdict, checks_passed, checks_total, checks, seconds, hints, solution, purpose"
        return [
            Attempt(
                *(row[1], row[2], row[3], row[4], row[5], row[6], ""),
                checks=_statuses(row[7]),
                seconds=row[8],
                hints=row[9],
                solution=bool(row[10]),
                purpose=row[11],
                mistakes=mistakes.get(row[0], ()),
            )
            for row in self._read(
                f"SELECT {columns} FROM attempts {'' if replaced else f'WHERE {_COUNTS} '}ORDER BY at, rowid"
            )
        ]

    def reviews(self, prefix: str = "") -> list[Review]:
        """All reviews of items that begin so, in order, each with the rating that counts."""
        overruled: dict[str, int] = {
            row[0]: row[1]
            for row in self._read("SELECT review, rating FROM overrules ORDER BY at, rowid")
        }
        rows = self._read(
            "SELECT id, item, at, rating, reason FROM reviews WHERE substr(item, 1, ?) = ? ORDER BY at, rowid",
            len(prefix),
            prefix,
        )
        return [
            Review(
                row[0], row[1], row[2], overruled[row[0]] if row[0] in overruled else row[3], row[4]
            )
            for row in rows
        ]

    def last_hunt(self, challenge: str) -> tuple[tuple[str, ...], Path] | None:
        """The mistakes of the last hunt, and where its file was put."""
        rows = self._read(
            "SELECT mistakes, path FROM hunts WHERE challenge = ? ORDER BY at DESC, rowid DESC LIMIT 1",
            challenge,
        )
        return (tuple(json.loads(rows[0][0])), Path(rows[0][1])) if rows else None

    def last_interview(self) -> tuple[str, float, dict[str, Any]] | None:
        """Id, time and plan of the last interview."""
        rows = self._read(
            "SELECT id, at, plan FROM interviews ORDER BY at DESC, rowid DESC LIMIT 1"
        )
        return (rows[0][0], rows[0][1], json.loads(rows[0][2])) if rows else None

    def events(self, interview: str) -> list[tuple[float, str, dict[str, Any]]]:
        """What happened in an interview, in order: when, what, and what there is to know of it."""
        rows = self._read(
            "SELECT at, kind, data FROM interview_events WHERE interview = ? ORDER BY rowid",
            interview,
        )
        return [(row[0], row[1], json.loads(row[2])) for row in rows]

    # All of it

    def rows(self) -> list[tuple[str, dict[str, Any]]]:
        """Every row of every table at one moment, in the order in which they came."""

        def read(connection: sqlite3.Connection) -> list[tuple[str, dict[str, Any]]]:
            found: list[tuple[str, dict[str, Any]]] = []
            connection.execute("BEGIN")
            with connection:
                for table, columns in COLUMNS.items():
                    rows = connection.execute(
                        f"SELECT {', '.join(columns)} FROM {table} ORDER BY rowid"
                    )
                    found += ((table, dict(zip(columns, row, strict=True))) for row in rows)
            return found

        return (self._attempt(read) or []) if self._is_there() else []

    def add_rows(self, rows: Sequence[tuple[str, Mapping[str, Any]]]) -> int | None:
        """Add rows whose ids are not there yet, all or none; how many those were, or None where the journal cannot be used.

        Raises:
            DrillError: where a row of the same id says something else; none is added then.
        """

        def add(connection: sqlite3.Connection) -> int:
            new = 0
            connection.execute("BEGIN IMMEDIATE")
            with connection:
                for table, row in rows:
                    columns = COLUMNS[table]
                    values = tuple(row[name] for name in columns)
                    there = connection.execute(
                        f"SELECT {', '.join(columns)} FROM {table} WHERE id = ?", (row["id"],)
                    ).fetchone()
                    if there is None:
                        connection.execute(
                            f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})",
                            values,
                        )
                        new += 1
                    elif there != values:
                        differs = ", ".join(
                            name
                            for name, old, value in zip(columns, there, values, strict=True)
                            if old != value
                        )
                        raise DrillError(
                            f"The row {row['id']!r} of {table} is there already, with another {differs}. A row never changes, so one of the two was edited: "
                            "mend it or take it out. Nothing was added."
                        )
            return new

        return self._attempt(add)

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _insert(self, table: str, *values: object) -> str:
        drawn = os.urandom(12).hex()

        def insert(connection: sqlite3.Connection) -> None:
            with connection:
                columns = COLUMNS[table]
                kept = (drawn, *map(_storable, values))
                connection.execute(
                    f"INSERT INTO {table} ({', '.join(columns)}) VALUES ({', '.join('?' * len(columns))})",
                    kept,
                )

        self._attempt(insert)
        return drawn

    def _read(self, statement: str, *values: object) -> list[Row]:
        if not self._is_there():
            return []
        return (
            self._attempt(
                lambda connection: connection.execute(
                    statement, [*map(_storable, values)]
                ).fetchall()
            )
            or []
        )

    def _is_there(self) -> bool:
        """Whether there is something to ask: asking an absent journal must not make one."""
        try:
            return self._connection is not None or self.path.exists()
        except OSError:
            return True  # opening it says what is the matter

    def _attempt(self, action: Callable[[sqlite3.Connection], T]) -> T | None:
        if self._given_up:
            return None
        try:
            if self._connection is None:
                self._connection, self.path, self.trouble = open_journal(self.path)
        except (sqlite3.Error, OSError, NewerJournalError) as error:
            self._given_up = True
            self.trouble = f"The journal {self.path} cannot be used ({error}); all else works, but progress is not kept. `attn-drill doctor` tells more."
            return None
        try:
            return action(self._connection)
        except (
            sqlite3.Error,
            OSError,
        ) as error:  # a disk that is full, another process that is busy: the next entry may be kept
            self.trouble = f"The journal {self.path} could not be used just now ({error}); all else works, but this was not kept."
            self.close()
            return None


def _storable(value: object) -> object:
    """A value as SQLite takes it: text of a file name that is no UTF-8 has lone surrogates, which are spelt out."""
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def _statuses(text: str) -> dict[str, Status]:
    found: dict[str, Status] = json.loads(text)
    return found


def default_journal() -> Journal:
    """The journal of this user."""
    return Journal(home(dict(os.environ)))
