"""The journal loses nothing and never stands in the way."""

import os
import signal
import sqlite3
import subprocess
import sys
import time
from pathlib import Path

import pytest

from trainer.core.words import Attempt
from trainer.practice.journal import VERSION, Journal, home


def attempt(verdict: str = "failed", when: float = 2.0) -> Attempt:
    """One try at gqa."""
    return Attempt("gqa", when, 7, verdict, 3, 14, "source")  # type: ignore[arg-type]


def test_states(home: Path) -> None:
    """New, started, passed; a later failure does not take a pass away."""
    journal = Journal(home)
    assert journal.progress() == {}
    assert not journal.path.exists(), "asking makes no file"
    journal.record_start("gqa", Path("/a/gqa.py"), 1.0)
    assert journal.progress()["gqa"].state == "started"
    journal.record_attempt(attempt("passed"))
    journal.record_attempt(attempt("failed", 3.0))
    assert (journal.progress()["gqa"].state, journal.progress()["gqa"].attempts) == ("passed", 2)
    assert journal.trouble is None


def test_place_and_hints(home: Path) -> None:
    """The last start's place; hints count from the last start on."""
    journal = Journal(home)
    journal.record_start("gqa", Path("/a/gqa.py"), 1.0)
    journal.record_hint("gqa", 2, 2.0)
    assert journal.highest_hint("gqa") == 2
    journal.record_start("gqa", Path("/b/gqa.py"), 3.0)
    assert journal.path_of("gqa") == Path("/b/gqa.py")
    assert journal.highest_hint("gqa") == 0
    assert journal.path_of("mha") is None


def test_two_processes_at_once(home: Path) -> None:
    """Two journals on one file write in turn, from the very first entry."""
    script = "import sys; from pathlib import Path; from trainer.practice.journal import Journal; j = Journal(Path(sys.argv[1]))\nfor i in range(30): j.record_hint('gqa', 1, i)\nassert j.trouble is None, j.trouble"
    running = [subprocess.Popen([sys.executable, "-c", script, str(home)]) for _ in range(3)]
    assert [one.wait() for one in running] == [0, 0, 0]
    assert Journal(home).progress()["gqa"].hints == 90


def test_a_kill_loses_nothing_that_was_there(home: Path) -> None:
    """kill -9 at any moment: every entry that was reported as written is there, and the file is whole."""
    script = "import sys; from pathlib import Path; from trainer.practice.journal import Journal; j = Journal(Path(sys.argv[1])); n = int(sys.argv[2])\nwhile True:\n    n += 1\n    j.record_hint('gqa', 1, n)\n    print(n, flush=True)"
    written = 0
    for delay in (0.0, 0.003, 0.01, 0.02, 0.05):
        process = subprocess.Popen([sys.executable, "-c", script, str(home), str(written)], stdout=subprocess.PIPE, text=True)
        assert process.stdout is not None
        told = [process.stdout.readline()]
        time.sleep(delay)
        os.kill(process.pid, signal.SIGKILL)
        told += process.stdout.readlines()
        process.wait()
        process.stdout.close()
        written = max(int(line) for line in told if line.strip().isdigit())
        with sqlite3.connect(home / "journal.sqlite3") as connection:
            assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
            kept = connection.execute("SELECT MAX(at) FROM hints").fetchone()[0]
        connection.close()
        assert kept >= written
        written = int(kept)


@pytest.mark.parametrize("content", [b"this is no database, but it is somebody's file", b"SQLite format 3\0" + bytes(200)])
def test_a_file_that_is_no_journal_is_left_alone(home: Path, content: bytes) -> None:
    """It is named, and not a byte of it changes."""
    home.mkdir()
    path = home / "journal.sqlite3"
    path.write_bytes(content)
    journal = Journal(home)
    journal.record_attempt(attempt())
    assert journal.trouble is not None
    assert str(path) in journal.trouble
    assert path.read_bytes() == content


def test_a_newer_journal_is_left_alone(home: Path) -> None:
    """A later version's file is not written to."""
    Journal(home).record_attempt(attempt())
    with sqlite3.connect(home / "journal.sqlite3") as connection:
        connection.execute(f"PRAGMA user_version = {VERSION + 1}")
    connection.close()
    journal = Journal(home)
    journal.record_attempt(attempt())
    assert journal.trouble is not None
    assert f"version {VERSION + 1}" in journal.trouble


def test_a_home_that_cannot_be_made(tmp_path: Path) -> None:
    """A file where the folder should be: trouble in words, no exception."""
    (tmp_path / "file").write_text("")
    journal = Journal(tmp_path / "file" / "home")
    journal.record_start("gqa", Path("x"), 1.0)
    assert journal.trouble is not None
    assert "progress is not kept" in journal.trouble
    assert journal.progress() == {}


def test_home_is_taken_from_the_environment() -> None:
    """ATTN_DRILL_HOME wins; else the platform's folder."""
    assert home({"ATTN_DRILL_HOME": "/x/y"}) == Path("/x/y")
    assert home({}).name == "attn-drill"
