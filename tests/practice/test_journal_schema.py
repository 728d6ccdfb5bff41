"""The journal loses nothing and never stands in the way."""

import contextlib
import os
from pathlib import Path

from tests.support.exchange import filled
from tests.support.journal import FIRST_ROWS, Open, asked, first_version
from trainer.practice.journal import ChallengeProgress, Journal
from trainer.practice.journal_schema import COLUMNS, VERSION


def test_every_table_goes_out() -> None:
    """The test's journal has rows in each table that there is, so that the tests below speak of all."""
    with contextlib.closing(filled(Path(os.environ["ATTN_DRILL_HOME"]))) as journal:
        assert {table for table, _ in journal.rows()} == set(COLUMNS)


def test_every_row_of_version_1_survives(opened: Open, home: Path) -> None:
    """Every value of every row is there after the migration, in order, what is new has its default, and nothing is left over."""
    first_version(home / "journal.sqlite3")
    journal = opened()
    kept: dict[str, list[dict[str, object]]] = {}
    for table, row in journal.rows():
        kept.setdefault(table, []).append(row)
    assert journal.trouble is None
    assert kept.keys() == FIRST_ROWS.keys()
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
        assert [tuple(row[name] for name in names) for row in kept[table]] == FIRST_ROWS[table]
    assert {row["level"] for row in kept["started"]} == {"standard"}
    assert {
        (row["checks"], row["seconds"], row["hints"], row["solution"], row["purpose"])
        for row in kept["attempts"]
    } == {("{}", None, 0, 0, "practice")}
    assert all(len({row["id"] for row in rows}) == len(rows) for rows in kept.values())
    assert journal.progress() == {
        "gqa": ChallengeProgress("passed", 2, 2),
        "mha": ChallengeProgress("started", 1, 0),
    }
    assert journal.since_start("gqa").hint == 2
    assert not [
        name
        for (name,) in asked(home / "journal.sqlite3", "SELECT name FROM sqlite_master")
        if str(name).endswith("_1") and "auto" not in str(name)
    ]
    assert asked(home / "journal.sqlite3", "PRAGMA user_version") == [(VERSION,)]


def test_copies_of_version_1_stay_copies(home: Path, opened: Open, tmp_path: Path) -> None:
    """A journal that was copied before the migration can be put together with its copy: no row is there twice."""
    first_version(home / "journal.sqlite3")
    first_version(tmp_path / "other" / "journal.sqlite3")
    with contextlib.closing(Journal(tmp_path / "other")) as other:
        assert opened().add_rows(other.rows()) == 0
