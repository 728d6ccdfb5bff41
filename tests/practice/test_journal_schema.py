"""Tests of the tables of the journal and of the migration from version 1."""

import contextlib
import os
from pathlib import Path

from tests.support.exchange import filled_journal
from tests.support.journal import FIRST_ROWS, Open, first_version, query
from trainer.practice.journal import ChallengeProgress, Journal
from trainer.practice.journal_schema import COLUMNS, VERSION


def test_filled_journal_has_rows_in_every_table() -> None:
    """The tests of export and import rely on this."""
    with contextlib.closing(filled_journal(Path(os.environ["ATTN_DRILL_HOME"]))) as journal:
        assert {table for table, _ in journal.rows()} == set(COLUMNS)


def test_migration_keeps_every_row_of_version_1(opened: Open, home: Path) -> None:
    """All values are kept in order. New columns have defaults, and no old table is left."""
    first_version(home / "journal.sqlite3")
    journal = opened()
    rows_by_table: dict[str, list[dict[str, object]]] = {}
    for table, row in journal.rows():
        rows_by_table.setdefault(table, []).append(row)
    assert journal.trouble is None
    assert rows_by_table.keys() == FIRST_ROWS.keys()
    columns = {
        "started": ("challenge", "path", "at"),
        "attempts": (
            "challenge",
            "at",
            "seed",
            "verdict",
            "checks_passed",
            "checks_total",
            "source",
        ),
        "hints": ("challenge", "level", "at"),
        "solutions": ("challenge", "at"),
    }
    for table, names in columns.items():
        assert [tuple(row[name] for name in names) for row in rows_by_table[table]] == FIRST_ROWS[
            table
        ]
    assert {row["level"] for row in rows_by_table["started"]} == {"standard"}
    assert {
        (row["checks"], row["seconds"], row["hints"], row["solution"], row["purpose"])
        for row in rows_by_table["attempts"]
    } == {("{}", None, 0, 0, "practice")}
    assert all(len({row["id"] for row in rows}) == len(rows) for rows in rows_by_table.values())
    assert journal.progress() == {
        "gqa": ChallengeProgress("passed", 2, 2),
        "mha": ChallengeProgress("started", 1, 0),
    }
    assert journal.since_start("gqa").hint == 2
    assert not [
        name
        for (name,) in query(home / "journal.sqlite3", "SELECT name FROM sqlite_master")
        if str(name).endswith("_1") and "auto" not in str(name)
    ]
    assert query(home / "journal.sqlite3", "PRAGMA user_version") == [(VERSION,)]


def test_migrated_copies_have_the_same_ids(home: Path, opened: Open, tmp_path: Path) -> None:
    """If a journal was copied before the migration, the copies can be merged without duplicates."""
    first_version(home / "journal.sqlite3")
    first_version(tmp_path / "other" / "journal.sqlite3")
    with contextlib.closing(Journal(tmp_path / "other")) as other:
        assert opened().add_rows(other.rows()) == 0
