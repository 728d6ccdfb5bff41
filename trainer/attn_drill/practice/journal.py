"""Keep the journal: a list of facts in a small SQLite file.

Every fact is one transaction in WAL mode, so a kill at any moment loses no earlier fact. A file
that is no journal is set aside, and a new journal begins. If no journal can be kept (full disk,
read-only home), everything else still works. `Journal.trouble` describes the problem in a sentence.
"""

from __future__ import annotations

import json
import os
import sqlite3
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, TypeVar, overload

import msgspec

from attn_drill.practice.facts import AnyFact, Fact
from attn_drill.practice.journal_file import NewerJournalError, open_journal
from attn_drill.practice.old_journal import Row

T = TypeVar("T")
F = TypeVar("F", bound=Fact)

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

    def add_rows(self, rows: list[Row]) -> int | None:
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
            return int(connection.execute("SELECT COUNT(*) FROM fact").fetchone()[0])

        return self._use(copy)

    def close(self) -> None:
        """Close the file."""
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
                self._connection, self.trouble = open_journal(self.path)
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
