"""Tests of opening, migrating and setting aside the file of the journal."""

import contextlib
import fcntl
import signal
import sqlite3
import subprocess
from pathlib import Path

import pytest

from tests.support.journal import (
    FIRST_ROWS,
    READY,
    ROOT,
    Open,
    attempt,
    first_version,
    query,
    run_together,
    script,
)
from trainer.practice import journal_file
from trainer.practice.attempt import Attempt
from trainer.practice.journal import ChallengeProgress, Journal
from trainer.practice.journal_schema import VERSION

BROKEN = {
    "text": b"this is no database, but it is somebody's file",
    "header": b"SQLite format 3\0" + bytes(200),
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN.keys())
def test_file_that_is_no_journal_is_set_aside(opened: Open, home: Path, content: bytes) -> None:
    """Its content is kept, a new journal begins, and one message reports it.

    A second broken file gets another name.
    """
    home.mkdir()
    path = home / "journal.sqlite3"
    for copy_number in (1, 2):
        path.write_bytes(content)
        journal = opened()
        journal.record_attempt(attempt())
        assert journal.trouble is not None
        assert str(path) in journal.trouble
        assert f"journal.broken-{copy_number}.sqlite3" in journal.trouble
        assert (home / f"journal.broken-{copy_number}.sqlite3").read_bytes() == content
        again = opened()
        assert again.progress()["gqa"].attempts == 1
        assert again.trouble is None
        again.close()
        journal.close()
        path.unlink()


def broken_journal(home: Path) -> bytes:
    """Write a journal, overwrite all its pages except the first, and return its bytes."""
    journal = Journal(home)
    for at in range(40):
        journal.record_attempt(Attempt("mha", float(at), 1, "failed", 0, 1, "x" * 2000))
    journal.close()
    content = journal.path.read_bytes()
    content = content[:4096] + b"\xaa" * (len(content) - 4096)
    journal.path.write_bytes(content)
    return content


def test_journal_with_broken_pages_is_set_aside(opened: Open, home: Path) -> None:
    """The file is kept byte for byte, and a new journal begins."""
    content = broken_journal(home)
    journal = opened()
    journal.record_attempt(attempt())
    assert journal.progress().keys() == {"gqa"}
    assert (home / "journal.broken-1.sqlite3").read_bytes() == content


def test_only_one_process_sets_a_broken_file_aside(opened: Open, home: Path) -> None:
    """Only one process reports it, and the entries of all processes are recorded."""
    content = broken_journal(home)
    outputs = run_together(
        [
            script(f"{READY}for i in range(20): j.record_hint('gqa', 1, i)\nprint(j.trouble)", home)
            for _ in range(5)
        ]
    )
    assert outputs.count("None\n") == 4
    assert sum("journal.broken-1.sqlite3" in output for output in outputs) == 1
    assert sorted(path.name for path in home.iterdir() if "broken" in path.name) == [
        "journal.broken-1.sqlite3"
    ]
    assert (home / "journal.broken-1.sqlite3").read_bytes() == content
    assert opened().progress()["gqa"].hints == 100


def test_newer_journal_is_left_unchanged(opened: Open, home: Path) -> None:
    """This version writes a separate journal in the same folder and opens it again next time."""
    first = opened()
    first.record_attempt(attempt())
    first.close()
    with contextlib.closing(sqlite3.connect(home / "journal.sqlite3")) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    content = (home / "journal.sqlite3").read_bytes()
    for attempts in (1, 2):
        journal = opened()
        journal.record_attempt(attempt())
        assert journal.trouble is not None
        assert f"version {VERSION + 1}" in journal.trouble
        assert f"journal.version-{VERSION}.sqlite3" in journal.trouble
        assert journal.progress()["gqa"].attempts == attempts
        journal.close()
    assert (home / "journal.sqlite3").read_bytes() == content


KILLS = ["0", "1", "7", "18", "last", "after"]


@pytest.mark.parametrize("moment", KILLS)
def test_kill_during_a_migration_leaves_a_complete_version(
    opened: Open, home: Path, moment: str
) -> None:
    """The file has version 1 or the current version, and the next process goes on."""
    first_version(home / "journal.sqlite3")
    text = """
class KilledAt(tuple):
    def __iter__(self):
        for index, statement in enumerate(tuple.__iter__(self)):
            if str(index) == sys.argv[2]:
                os.kill(os.getpid(), signal.SIGKILL)
            yield statement
        if sys.argv[2] == "last":
            os.kill(os.getpid(), signal.SIGKILL)
migrate = journal_file._migrate
def migrate_and_be_killed(connection):
    migrate(connection)
    os.kill(os.getpid(), signal.SIGKILL)
journal_file._migrate = migrate_and_be_killed
first, second, *others = journal_file.STEPS
journal_file.STEPS = (first, KilledAt(second), *others)
j.progress()
"""
    done = subprocess.run(script(text, home, moment), cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL
    assert query(home / "journal.sqlite3", "PRAGMA integrity_check") == [("ok",)]
    assert query(home / "journal.sqlite3", "PRAGMA user_version") == [
        (VERSION if moment == "after" else 1,)
    ]
    for table, rows in FIRST_ROWS.items():
        assert query(home / "journal.sqlite3", f"SELECT COUNT(*) FROM {table}") == [(len(rows),)]
    if moment != "after":
        assert (
            query(home / "journal.sqlite3", "SELECT * FROM attempts ORDER BY rowid")
            == FIRST_ROWS["attempts"]
        )
    journal = opened()
    assert journal.progress() == {
        "gqa": ChallengeProgress("passed", 2, 2),
        "mha": ChallengeProgress("started", 1, 0),
    }
    assert journal.trouble is None


def test_only_one_of_five_processes_migrates(opened: Open, home: Path) -> None:
    """The other processes use the migrated journal."""
    many = [("gqa", float(at), 7, "failed", 3, 14, "x" * 500) for at in range(2000)]
    first_version(home / "journal.sqlite3", {"attempts": many})
    outputs = run_together(
        [script(f"{READY}j.record_hint('gqa', 1, 1.0); print(j.trouble)", home) for _ in range(5)]
    )
    assert outputs == ["None\n"] * 5
    assert opened().progress()["gqa"] == ChallengeProgress("started", 2000, 5)


def test_process_that_hangs_with_the_lock_blocks_for_a_short_time(
    opened: Open, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process waits for the lock, but less than 10 s."""
    home.mkdir()
    waits: list[float] = []
    monkeypatch.setattr(journal_file.time, "sleep", waits.append)
    with (home / "journal.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        journal = opened()
        journal.record_hint("gqa", 1, 1.0)
    assert journal.trouble is None
    assert journal.progress()["gqa"].hints == 1
    assert 1 < sum(waits) < 10


HOMES = {
    "under a file": "file/home",
    "a file": "file",
    "a name too long": "x" * 300,
    "a loop of links": "loop/home",
}


@pytest.mark.parametrize("place", HOMES.values(), ids=HOMES.keys())
def test_home_that_cannot_be_created_is_reported(tmp_path: Path, place: str) -> None:
    """No error is raised, and no file is created."""
    (tmp_path / "file").write_text("mine")
    (tmp_path / "loop").symlink_to("loop")
    journal = Journal(tmp_path / place)
    assert journal.progress() == {}
    journal.record_start("gqa", Path("x"), 1.0)
    assert journal.trouble is not None
    assert "progress is not kept" in journal.trouble
    assert journal.progress() == {}
    assert journal.since_start("gqa").attempts == 0
    assert journal.rows() == []
    assert journal.add_rows([]) is None
    assert (tmp_path / "file").read_text() == "mine"


def test_folder_in_place_of_the_file_is_left_alone(opened: Open, home: Path) -> None:
    """A folder is not a broken journal, so it is not renamed."""
    (home / "journal.sqlite3" / "mine").mkdir(parents=True)
    journal = opened()
    journal.record_hint("gqa", 1, 1.0)
    assert journal.trouble is not None
    assert (home / "journal.sqlite3" / "mine").is_dir()
