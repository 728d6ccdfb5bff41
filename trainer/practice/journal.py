"""Keep the journal in a small SQLite file: starts, attempts, hints, solutions and reviews.

Every entry is one transaction in WAL mode, so a kill at any moment loses no earlier entry. A file
that is no journal is set aside, and a new journal begins. The journal of a later version stays
unchanged, and this version keeps a separate journal next to it. If no journal can be kept (full
disk, read-only home), everything else still works. `Journal.trouble` describes the problem in a
sentence.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

from trainer.model.checks import Status
from trainer.model.errors import DrillError
from trainer.practice.attempt import Attempt
from trainer.practice.journal_file import NewerJournalError, open_journal
from trainer.practice.journal_schema import COLUMNS

T = TypeVar("T")
Row = tuple[Any, ...]

State = Literal["new", "started", "passed"]
# The SQL condition of an attempt that counts: its text was not replaced within seconds.
_COUNTS = "id NOT IN (SELECT attempt FROM replaced)"
_PAUSE_SECONDS = 15 * 60  # of a longer gap between two entries, this much counts as work


@dataclass(frozen=True)
class ChallengeProgress:
    """The progress in one challenge.

    Attributes:
        state: The state of the challenge.
        attempts: The number of attempts that count.
        hints: The number of hints that were shown.
    """

    state: State = "new"
    attempts: int = 0
    hints: int = 0


@dataclass(frozen=True)
class SinceStart:
    """The events of a challenge since its stub was last handed out.

    Attributes:
        started_at: The time of the last start in seconds since the epoch, or None without a start.
        last_at: The time of the last entry in seconds since the epoch, or None without entries.
        seconds: The time at work until the last entry. A long gap without an entry counts as a
            pause.
        attempts: The number of attempts that count.
        failed: The number of attempts that did not pass.
        passed: True if an attempt passed.
        hint: The highest level of the hints that were shown, or 0.
        solution: True if the reference was shown.
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
        """Return the seconds at work if the next entry is made now.

        A clock that went backwards adds no time.
        """
        return (
            self.seconds
            if self.last_at is None
            else self.seconds + min(max(0.0, now - self.last_at), _PAUSE_SECONDS)
        )


@dataclass(frozen=True)
class Review:
    """One review of an item.

    Attributes:
        id: The id of the review.
        item: `challenge:ID`, `question:ID`, `line:ID:MISTAKE` or `follow-up:ID:NUMBER`.
        at: The time of the review in seconds since the epoch.
        rating: 1 (again) to 4 (easy). If the learner overruled the rating, the new rating.
        reason: The reason for the first rating.
    """

    id: str
    item: str
    at: float
    rating: int
    reason: str


def home(environment: dict[str, str]) -> Path:
    """Return `ATTN_DRILL_HOME`, or the platform's folder for user data."""
    if chosen := environment.get("ATTN_DRILL_HOME"):
        # Path.expanduser raises an error if the user of `~user` does not exist.
        return Path(os.path.expanduser(chosen))
    import platformdirs

    return Path(platformdirs.user_data_dir("attn-drill", appauthor=False))


class Journal:
    """The journal in a home folder.

    The file is opened when it is first needed. A problem with the file raises no error: read
    methods return an empty result, and `trouble` describes the problem.

    Attributes:
        path: The file of the journal.
        trouble: A sentence that describes the last problem with the file, or None.
    """

    def __init__(self, folder: Path) -> None:
        self.path = folder / "journal.sqlite3"
        self.trouble: str | None = None
        self._connection: sqlite3.Connection | None = None
        self._given_up = False

    # Write entries

    def record_start(self, challenge: str, path: Path, at: float, level: str = "standard") -> None:
        """Record that a stub was handed out at this path."""
        self._insert("started", challenge, at, str(path), level)

    def record_resumption(self, challenge: str, at: float) -> None:
        """Record that a start continued with a file that was there. Clock and hints stay."""
        self._insert("resumed", challenge, at)

    def record_attempt(self, attempt: Attempt) -> str:
        """Record that a file was graded, and return the id of the attempt."""
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
        """Record that the text of an attempt was replaced within seconds.

        The attempt does not count any more.
        """
        self._insert("replaced", attempt, at)

    def record_diagnosis(self, attempt: str, mistakes: Sequence[str], line: int | None) -> None:
        """Record the known mistakes that an attempt showed, and the line in its file."""
        self._insert("diagnoses", attempt, json.dumps(list(mistakes)), line)

    def record_hint(self, challenge: str, level: int, at: float) -> None:
        """Record that a hint was shown."""
        self._insert("hints", challenge, at, level)

    def record_solution(self, challenge: str, at: float) -> None:
        """Record that the reference was shown."""
        self._insert("solutions", challenge, at)

    def record_review(self, item: str, at: float, rating: int, reason: str) -> str:
        """Record the review of an item, and return the id of the review."""
        return self._insert("reviews", item, at, rating, reason)

    def overrule(self, review: str, at: float, rating: int) -> None:
        """Record that the learner gives a review another rating."""
        self._insert("overrules", review, at, rating)

    def record_hunt(self, challenge: str, at: float, mistakes: Sequence[str], path: Path) -> None:
        """Record that a reference with known mistakes was handed out for repair."""
        self._insert("hunts", challenge, at, json.dumps(list(mistakes)), str(path))

    def record_interview(self, at: float, plan: Mapping[str, Any]) -> str:
        """Record the start of an interview, and return the id of the interview."""
        return self._insert("interviews", at, json.dumps(plan))

    def record_event(self, interview: str, at: float, kind: str, data: Mapping[str, Any]) -> None:
        """Record an event of an interview."""
        self._insert("interview_events", interview, at, kind, json.dumps(data))

    # Read entries

    def path_of(self, challenge: str) -> Path | None:
        """Return the path at which the stub was last handed out, or None."""
        rows = self._read(
            "SELECT path FROM started WHERE challenge = ? ORDER BY at DESC, rowid DESC LIMIT 1",
            challenge,
        )
        return Path(rows[0][0]) if rows else None

    def last_started(self) -> str | None:
        """Return the id of the challenge that was started or resumed last, or None."""
        rows = self._read(
            "SELECT challenge, at, rowid FROM started UNION ALL "
            "SELECT challenge, at, rowid FROM resumed ORDER BY at DESC, rowid DESC LIMIT 1"
        )
        return str(rows[0][0]) if rows else None

    def level_of(self, challenge: str) -> str | None:
        """Return the level of the stub that was last handed out, or None."""
        rows = self._read(
            "SELECT level FROM started WHERE challenge = ? ORDER BY at DESC, rowid DESC LIMIT 1",
            challenge,
        )
        return str(rows[0][0]) if rows else None

    def last_seed(self, challenge: str) -> int | None:
        """Return the seed of the last attempt, or None if there is no attempt.

        Include attempts that do not count. Skip attempts of a hunt, which grade another file.
        """
        rows = self._read(
            "SELECT seed FROM attempts WHERE challenge = ? AND purpose <> 'hunt' "
            "ORDER BY at DESC, rowid DESC LIMIT 1",
            challenge,
        )
        return int(rows[0][0]) if rows else None

    def since_start(self, challenge: str, begun: float | None = None) -> SinceStart:
        """Return the events since the last start; all events if the challenge was never started.

        Skip the attempts of a hunt.

        Args:
            challenge: The id of the challenge.
            begun: Count from this time instead, in seconds since the epoch.
        """
        starts = self._read("SELECT MAX(at) FROM started WHERE challenge = ?", challenge)
        start = begun if begun is not None else starts[0][0] if starts else None
        after = (challenge, start if start is not None else 0.0)
        # Read the attempts that do not count too: the learner spent time on them.
        columns = f"at, seconds, verdict, {_COUNTS}"
        attempts = self._read(
            f"SELECT {columns} FROM attempts "
            "WHERE challenge = ? AND at >= ? AND purpose <> 'hunt' ORDER BY at, rowid",
            *after,
        )
        verdicts = [row[2] for row in attempts if row[3]]
        hints = self._read("SELECT at, level FROM hints WHERE challenge = ? AND at >= ?", *after)
        solutions = self._read("SELECT at FROM solutions WHERE challenge = ? AND at >= ?", *after)
        worked = SinceStart(last_at=start)
        entries = [
            *((row[0], row[1]) for row in attempts),
            *((row[0], None) for row in [*hints, *solutions]),
        ]
        for at, seconds in sorted(entries, key=lambda entry: entry[0]):
            worked = SinceStart(
                last_at=at, seconds=worked.seconds_at(at) if seconds is None else seconds
            )
        return SinceStart(
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
        """Return the times at which each challenge's stub was handed out, in order of time."""
        times: dict[str, tuple[float, ...]] = {}
        for challenge, at in self._read("SELECT challenge, at FROM started ORDER BY at"):
            times[challenge] = (*times.get(challenge, ()), at)
        return times

    def progress(self) -> dict[str, ChallengeProgress]:
        """Return the progress in every challenge that the journal knows.

        Skip the attempts of a hunt: the learner repairs a reference there, and writes none.
        """
        started = {row[0] for row in self._read("SELECT DISTINCT challenge FROM started")}
        counts = (
            "SELECT challenge, COUNT(*), SUM(verdict = 'passed') FROM attempts "
            f"WHERE purpose <> 'hunt' AND {_COUNTS} GROUP BY challenge"
        )
        attempts = {row[0]: (row[1], row[2]) for row in self._read(counts)}
        hints = {
            row[0]: row[1]
            for row in self._read("SELECT challenge, COUNT(*) FROM hints GROUP BY challenge")
        }
        progress: dict[str, ChallengeProgress] = {}
        for challenge in started | attempts.keys() | hints.keys():
            count, passed = attempts.get(challenge, (0, 0))
            state: State = (
                "passed" if passed else "started" if challenge in started or count else "new"
            )
            progress[challenge] = ChallengeProgress(state, count, hints.get(challenge, 0))
        return progress

    def hunt_verdicts(self, challenge: str) -> list[str]:
        """Return the verdicts of the attempts at the last hunt that count, in order."""
        rows = self._read(
            "SELECT verdict FROM attempts WHERE challenge = ? AND purpose = 'hunt' "
            f"AND at >= (SELECT MAX(at) FROM hunts WHERE challenge = ?) AND {_COUNTS} "
            "ORDER BY at, rowid",
            challenge,
            challenge,
        )
        return [row[0] for row in rows]

    def last_sources(self, challenge: str, count: int) -> list[tuple[float, str, str]]:
        """Return the last attempts that count, the oldest first. Leave out bug hunts.

        Returns:
            For each attempt: its time in seconds since the epoch, its verdict, and its source.
        """
        rows = self._read(
            "SELECT at, verdict, source FROM attempts "
            f"WHERE challenge = ? AND purpose != 'hunt' AND {_COUNTS} "
            "ORDER BY at DESC, rowid DESC LIMIT ?",
            challenge,
            count,
        )
        return [(row[0], row[1], row[2]) for row in reversed(rows)]

    def attempts(self, *, replaced: bool = False) -> list[Attempt]:
        """Return the attempts in order, without their sources, with their diagnosed mistakes.

        Args:
            replaced: Also return the attempts that do not count because their text was replaced
                within seconds.
        """
        mistakes = {
            row[0]: tuple(json.loads(row[1]))
            for row in self._read("SELECT attempt, mistakes FROM diagnoses ORDER BY rowid")
        }
        columns = (
            "id, challenge, at, seed, verdict, checks_passed, checks_total, checks, seconds, "
            "hints, solution, purpose"
        )
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
                f"SELECT {columns} FROM attempts "
                f"{'' if replaced else f'WHERE {_COUNTS} '}ORDER BY at, rowid"
            )
        ]

    def reviews(self, prefix: str = "") -> list[Review]:
        """Return the reviews of all items that begin with `prefix`, in order.

        Each review has the rating that counts: the last overrule, or else the first rating.
        """
        overruled: dict[str, int] = {
            row[0]: row[1]
            for row in self._read("SELECT review, rating FROM overrules ORDER BY at, rowid")
        }
        rows = self._read(
            "SELECT id, item, at, rating, reason FROM reviews WHERE substr(item, 1, ?) = ? "
            "ORDER BY at, rowid",
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
        """Return the mistakes of the last hunt and the path of its file, or None."""
        rows = self._read(
            "SELECT mistakes, path FROM hunts WHERE challenge = ? "
            "ORDER BY at DESC, rowid DESC LIMIT 1",
            challenge,
        )
        return (tuple(json.loads(rows[0][0])), Path(rows[0][1])) if rows else None

    def last_interview(self) -> tuple[str, float, dict[str, Any]] | None:
        """Return the id, the start time and the plan of the last interview, or None."""
        rows = self._read(
            "SELECT id, at, plan FROM interviews ORDER BY at DESC, rowid DESC LIMIT 1"
        )
        return (rows[0][0], rows[0][1], json.loads(rows[0][2])) if rows else None

    def events(self, interview: str) -> list[tuple[float, str, dict[str, Any]]]:
        """Return the time, kind and data of each event of an interview, in order."""
        rows = self._read(
            "SELECT at, kind, data FROM interview_events WHERE interview = ? ORDER BY rowid",
            interview,
        )
        return [(row[0], row[1], json.loads(row[2])) for row in rows]

    # Export and import

    def rows(self) -> list[tuple[str, dict[str, Any]]]:
        """Return every row with the name of its table, in the order of insertion.

        All tables are read in one transaction, so the rows belong to the same moment.
        """

        def read(connection: sqlite3.Connection) -> list[tuple[str, dict[str, Any]]]:
            all_rows: list[tuple[str, dict[str, Any]]] = []
            connection.execute("BEGIN")
            with connection:
                for table, columns in COLUMNS.items():
                    rows = connection.execute(
                        f"SELECT {', '.join(columns)} FROM {table} ORDER BY rowid"
                    )
                    all_rows += ((table, dict(zip(columns, row, strict=True))) for row in rows)
            return all_rows

        return (self._attempt(read) or []) if self._is_there() else []

    def add_rows(self, rows: Sequence[tuple[str, Mapping[str, Any]]]) -> int | None:
        """Add the rows whose ids the journal does not have yet, all of them or none.

        Returns:
            The number of rows that were added, or None if the journal cannot be used.

        Raises:
            DrillError: If the journal has a row of the same id with other values. Nothing is
                added then.
        """

        def add(connection: sqlite3.Connection) -> int:
            added = 0
            connection.execute("BEGIN IMMEDIATE")
            with connection:
                for table, row in rows:
                    columns = COLUMNS[table]
                    values = tuple(row[name] for name in columns)
                    existing = connection.execute(
                        f"SELECT {', '.join(columns)} FROM {table} WHERE id = ?", (row["id"],)
                    ).fetchone()
                    if existing is None:
                        connection.execute(
                            f"INSERT INTO {table} ({', '.join(columns)}) "
                            f"VALUES ({', '.join('?' * len(columns))})",
                            values,
                        )
                        added += 1
                    elif existing != values:
                        differs = ", ".join(
                            name
                            for name, old, value in zip(columns, existing, values, strict=True)
                            if old != value
                        )
                        raise DrillError(
                            f"The row {row['id']!r} of {table} exists already, with another "
                            f"{differs}. A row never changes, so one of the two was edited: "
                            "repair or delete it. Nothing was added."
                        )
            return added

        return self._attempt(add)

    def close(self) -> None:
        """Close the file."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _insert(self, table: str, *values: object) -> str:
        row_id = os.urandom(12).hex()

        def insert(connection: sqlite3.Connection) -> None:
            with connection:
                columns = COLUMNS[table]
                row = (row_id, *map(_storable, values))
                connection.execute(
                    f"INSERT INTO {table} ({', '.join(columns)}) "
                    f"VALUES ({', '.join('?' * len(columns))})",
                    row,
                )

        self._attempt(insert)
        return row_id

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
        """Return whether the journal exists. A query must not create a journal."""
        try:
            return self._connection is not None or self.path.exists()
        except OSError:
            return True  # opening the file reports the problem

    def _attempt(self, action: Callable[[sqlite3.Connection], T]) -> T | None:
        if self._given_up:
            return None
        try:
            if self._connection is None:
                self._connection, self.path, self.trouble = open_journal(self.path)
        except (sqlite3.Error, OSError, NewerJournalError) as error:
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


def _storable(value: object) -> object:
    """Return a value that SQLite accepts.

    A file name that is no UTF-8 has lone surrogates. They become backslash escapes.
    """
    return value.encode("utf-8", "backslashreplace").decode() if isinstance(value, str) else value


def _statuses(text: str) -> dict[str, Status]:
    statuses: dict[str, Status] = json.loads(text)
    return statuses


def default_journal() -> Journal:
    """Return the journal of this user."""
    return Journal(home(dict(os.environ)))
