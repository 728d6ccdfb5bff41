"""Tests of opening, migrating and setting aside the file of the journal."""

import contextlib
import fcntl
import sqlite3
from pathlib import Path

import pytest

from attn_drill.practice.facts import Attempted, Hinted, Started
from attn_drill.practice.journal import VERSION, Journal
from attn_drill.practice.progress import progress_of, since_start
from tests.support.journal import (
    READY,
    Open,
    attempt,
    run_together,
    script,
)

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
        journal.add(attempt())
        assert journal.trouble is not None
        assert str(path) in journal.trouble
        assert f"journal.broken-{copy_number}.sqlite3" in journal.trouble
        assert (home / f"journal.broken-{copy_number}.sqlite3").read_bytes() == content
        again = opened()
        assert progress_of(again.facts())["gqa"].attempts == 1
        assert again.trouble is None
        again.close()
        journal.close()
        path.unlink()


def broken_journal(home: Path) -> bytes:
    """Write a journal, overwrite all its pages except the first, and return its bytes."""
    journal = Journal(home)
    for at in range(40):
        journal.add(Attempted("mha", float(at), seed=1, verdict="failed", source="x" * 2000))
    journal.close()
    content = journal.path.read_bytes()
    content = content[:4096] + b"\xaa" * (len(content) - 4096)
    journal.path.write_bytes(content)
    return content


def test_journal_with_broken_pages_is_set_aside(opened: Open, home: Path) -> None:
    """The file is kept byte for byte, and a new journal begins."""
    content = broken_journal(home)
    journal = opened()
    journal.add(attempt())
    assert progress_of(journal.facts()).keys() == {"gqa"}
    assert (home / "journal.broken-1.sqlite3").read_bytes() == content


def test_only_one_process_sets_a_broken_file_aside(opened: Open, home: Path) -> None:
    """Only one process reports it, and the entries of all processes are recorded."""
    content = broken_journal(home)
    text = f"{READY}for i in range(20): j.add(facts.Hinted('gqa', i, level=1))\nprint(j.trouble)"
    outputs = run_together([script(text, home) for _ in range(5)])
    assert outputs.count("None\n") == 4
    assert sum("journal.broken-1.sqlite3" in output for output in outputs) == 1
    assert sorted(path.name for path in home.iterdir() if "broken" in path.name) == [
        "journal.broken-1.sqlite3"
    ]
    assert (home / "journal.broken-1.sqlite3").read_bytes() == content
    assert progress_of(opened().facts())["gqa"].hints == 100


def test_newer_journal_is_left_unchanged(opened: Open, home: Path) -> None:
    """Only a journal in another form has a newer version. One sentence names the next step."""
    first = opened()
    first.add(attempt())
    first.close()
    with contextlib.closing(sqlite3.connect(home / "journal.sqlite3")) as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    content = (home / "journal.sqlite3").read_bytes()
    journal = opened()
    journal.add(attempt())
    assert journal.facts() == []
    assert journal.trouble is not None
    assert f"version {VERSION + 1}" in journal.trouble
    assert "upgrade attn-drill" in journal.trouble
    assert (home / "journal.sqlite3").read_bytes() == content
    assert {path.name for path in home.iterdir()} <= {"journal.sqlite3", "journal.lock"}


def test_process_that_hangs_with_the_lock_blocks_for_a_short_time(
    opened: Open, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Another process waits for the lock, but less than 10 s."""
    home.mkdir()
    waits: list[float] = []
    monkeypatch.setattr("attn_drill.practice.journal.time.sleep", waits.append)
    with (home / "journal.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        journal = opened()
        journal.add(Hinted("gqa", 1.0, level=1))
    assert journal.trouble is None
    assert progress_of(journal.facts())["gqa"].hints == 1
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
    assert progress_of(journal.facts()) == {}
    journal.add(Started("gqa", 1.0, path="x"))
    assert journal.trouble is not None
    assert "progress is not kept" in journal.trouble
    assert progress_of(journal.facts()) == {}
    assert since_start(journal.facts(subject="gqa")).attempts == 0
    assert journal.add_rows([]) is None
    assert (tmp_path / "file").read_text() == "mine"


def test_folder_in_place_of_the_file_is_left_alone(opened: Open, home: Path) -> None:
    """A folder is not a broken journal, so it is not renamed."""
    (home / "journal.sqlite3" / "mine").mkdir(parents=True)
    journal = opened()
    journal.add(Hinted("gqa", 1.0, level=1))
    assert journal.trouble is not None
    assert (home / "journal.sqlite3" / "mine").is_dir()
