"""The journal loses nothing and never stands in the way."""

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
    all_at_once,
    asked,
    attempt,
    first_version,
    script,
)
from trainer.model.attempt import Attempt
from trainer.practice import journal_file as module
from trainer.practice.journal import ChallengeProgress, Journal
from trainer.practice.journal_schema import VERSION

BROKEN = {
    "text": b"this is no database, but it is somebody's file",
    "header": b"SQLite format 3\0" + bytes(200),
}


@pytest.mark.parametrize("content", BROKEN.values(), ids=BROKEN.keys())
def test_a_file_that_is_no_journal_is_set_aside(opened: Open, home: Path, content: bytes) -> None:
    """Not a byte of it changes, a new journal is begun, a sentence says so once; the next one gets the next name."""
    home.mkdir()
    path = home / "journal.sqlite3"
    for number in (1, 2):
        path.write_bytes(content)
        journal = opened()
        journal.record_attempt(attempt())
        assert journal.trouble is not None
        assert str(path) in journal.trouble
        assert f"journal.broken-{number}.sqlite3" in journal.trouble
        assert (home / f"journal.broken-{number}.sqlite3").read_bytes() == content
        again = opened()
        assert again.progress()["gqa"].attempts == 1
        assert again.trouble is None
        again.close()
        journal.close()
        path.unlink()


def broken_journal(home: Path) -> bytes:
    """A real journal whose pages were written over, all but the first; its bytes."""
    journal = Journal(home)
    for number in range(40):
        journal.record_attempt(Attempt("mha", float(number), 1, "failed", 0, 1, "x" * 2000))
    journal.close()
    content = journal.path.read_bytes()
    content = content[:4096] + b"\xaa" * (len(content) - 4096)
    journal.path.write_bytes(content)
    return content


def test_a_journal_with_broken_pages_is_set_aside(opened: Open, home: Path) -> None:
    """What the disk did to a real journal: kept byte for byte, and a new one begun."""
    content = broken_journal(home)
    journal = opened()
    journal.record_attempt(attempt())
    assert journal.progress().keys() == {"gqa"}
    assert (home / "journal.broken-1.sqlite3").read_bytes() == content


def test_several_processes_find_the_same_broken_file(opened: Open, home: Path) -> None:
    """It is set aside once, one says so, and what all of them write then is there."""
    content = broken_journal(home)
    told = all_at_once(
        [
            script(f"{READY}for i in range(20): j.record_hint('gqa', 1, i)\nprint(j.trouble)", home)
            for _ in range(5)
        ]
    )
    assert told.count("None\n") == 4
    assert sum("journal.broken-1.sqlite3" in one for one in told) == 1
    assert sorted(path.name for path in home.iterdir() if "broken" in path.name) == [
        "journal.broken-1.sqlite3"
    ]
    assert (home / "journal.broken-1.sqlite3").read_bytes() == content
    assert opened().progress()["gqa"].hints == 100


def test_a_newer_journal_is_left_as_it_is(opened: Open, home: Path) -> None:
    """A later version's file is not written to; this version keeps its own beside it, and finds it again."""
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
def test_a_kill_in_the_middle_of_a_migration(opened: Open, home: Path, moment: str) -> None:
    """Before a statement, before the commit, after it: the file is a whole version 1 or a whole one of now, and the next one goes on."""
    first_version(home / "journal.sqlite3")
    text = """
class Dying(tuple):
    def __iter__(self):
        for number, statement in enumerate(tuple.__iter__(self)):
            if str(number) == sys.argv[2]:
                os.kill(os.getpid(), signal.SIGKILL)
            yield statement
        if sys.argv[2] == "last":
            os.kill(os.getpid(), signal.SIGKILL)
migrate = journal_file._migrate
def migrate_and_die(connection):
    migrate(connection)
    os.kill(os.getpid(), signal.SIGKILL)
journal_file._migrate = migrate_and_die
journal_file.STEPS = (journal_file.STEPS[0], Dying(journal_file.STEPS[1]), *journal_file.STEPS[2:])
j.progress()
"""
    done = subprocess.run(script(text, home, moment), cwd=ROOT, check=False)
    assert done.returncode == -signal.SIGKILL
    assert asked(home / "journal.sqlite3", "PRAGMA integrity_check") == [("ok",)]
    assert asked(home / "journal.sqlite3", "PRAGMA user_version") == [
        (VERSION if moment == "after" else 1,)
    ]
    for table, rows in FIRST_ROWS.items():
        assert asked(home / "journal.sqlite3", f"SELECT COUNT(*) FROM {table}") == [(len(rows),)]
    if moment != "after":
        assert (
            asked(home / "journal.sqlite3", "SELECT * FROM attempts ORDER BY rowid")
            == FIRST_ROWS["attempts"]
        )
    journal = opened()
    assert journal.progress() == {
        "gqa": ChallengeProgress("passed", 2, 2),
        "mha": ChallengeProgress("started", 1, 0),
    }
    assert journal.trouble is None


def test_processes_that_migrate_at_once(opened: Open, home: Path) -> None:
    """One does it, the others go on from there."""
    many = [("gqa", float(number), 7, "failed", 3, 14, "x" * 500) for number in range(2000)]
    first_version(home / "journal.sqlite3", {"attempts": many})
    told = all_at_once(
        [script(f"{READY}j.record_hint('gqa', 1, 1.0); print(j.trouble)", home) for _ in range(5)]
    )
    assert told == ["None\n"] * 5
    assert opened().progress()["gqa"] == ChallengeProgress("started", 2000, 5)


def test_who_hangs_in_the_door_keeps_nobody_out(
    opened: Open, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process that stopped while it opened the journal is waited for, but not for ever."""
    home.mkdir()
    waits: list[float] = []
    monkeypatch.setattr(module.time, "sleep", waits.append)
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
def test_a_home_that_cannot_be_made(tmp_path: Path, place: str) -> None:
    """Trouble in words, no exception, and nothing is there afterwards that was not before."""
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


def test_a_folder_in_place_of_the_file(opened: Open, home: Path) -> None:
    """A folder is no broken journal: it is left where it is."""
    (home / "journal.sqlite3" / "mine").mkdir(parents=True)
    journal = opened()
    journal.record_hint("gqa", 1, 1.0)
    assert journal.trouble is not None
    assert (home / "journal.sqlite3" / "mine").is_dir()
