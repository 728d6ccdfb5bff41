"""The journal loses nothing and never stands in the way."""

import contextlib
import fcntl
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from trainer.model.attempt import Attempt
from trainer.packs import pack_reader
from trainer.practice import journal_file as module
from trainer.practice.journal import ChallengeProgress, Journal, Review, Since, home
from trainer.practice.journal_schema import VERSION

ROOT = pack_reader.TRAINER.parent
Open = Callable[[], Journal]

# Version 1 as it was released.
FIRST_VERSION = """
    CREATE TABLE started (challenge TEXT NOT NULL, path TEXT NOT NULL, at REAL NOT NULL);
    CREATE TABLE attempts (
        challenge TEXT NOT NULL, at REAL NOT NULL, seed INTEGER NOT NULL, verdict TEXT NOT NULL,
        checks_passed INTEGER NOT NULL, checks_total INTEGER NOT NULL, source TEXT NOT NULL
    );
    CREATE TABLE hints (challenge TEXT NOT NULL, level INTEGER NOT NULL, at REAL NOT NULL);
    CREATE TABLE solutions (challenge TEXT NOT NULL, at REAL NOT NULL);
    CREATE INDEX attempts_by_challenge ON attempts (challenge, at);
    PRAGMA user_version = 1;
"""
FIRST_ROWS = {
    "started": [("gqa", "/a/gqa.py", 1.0), ("mha", "/a/mha.py", 2.5)],
    "attempts": [
        ("gqa", 3.0, 7, "failed", 3, 14, "one\n"),
        ("gqa", 4.0, 8, "passed", 14, 14, "two\n"),
        ("mha", 4.0, 9, "timeout", 0, 0, "é\0🙂"),
    ],
    "hints": [("gqa", 1, 3.25), ("gqa", 2, 3.5)],
    "solutions": [("gqa", 5.0)],
}


def attempt(verdict: str = "failed", when: float = 2.0, **more: object) -> Attempt:
    """One try at gqa."""
    return Attempt("gqa", when, 7, verdict, 3, 14, "source", **more)  # type: ignore[arg-type]


@pytest.fixture
def opened(home: Path) -> Iterator[Open]:
    """Opens the journal of this test's home, anew each time; all are closed at the end."""
    made: list[Journal] = []

    def one() -> Journal:
        made.append(Journal(home))
        return made[-1]

    yield one
    for journal in made:
        journal.close()


def first_version(path: Path, rows: dict[str, list[tuple[object, ...]]] = FIRST_ROWS) -> None:  # type: ignore[assignment]
    """Write a journal of version 1."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.executescript(FIRST_VERSION)
        for table, some in rows.items():
            connection.executemany(
                f"INSERT INTO {table} VALUES ({', '.join('?' * len(some[0]))})", some
            )


def asked(path: Path, statement: str) -> list[tuple[object, ...]]:
    """Rows of a file, read with sqlite3 alone."""
    with contextlib.closing(sqlite3.connect(path)) as connection:
        return connection.execute(statement).fetchall()


def script(text: str, *arguments: object) -> list[str]:
    """The command that runs a script with the journal in `j`, and arguments from the second on in `sys.argv`."""
    head = "import os, signal, sys; from pathlib import Path; from trainer.practice import journal, journal_file; j = journal.Journal(Path(sys.argv[1]))\n"
    return [sys.executable, "-c", head + text, *map(str, arguments)]


def all_at_once(commands: list[list[str]]) -> list[str]:
    """Run scripts that print a line, wait for one, and go on: all are let go together. What each prints then, both streams."""
    running = [
        subprocess.Popen(
            one,
            cwd=ROOT,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
        for one in commands
    ]
    for one in running:
        assert one.stdout is not None
        assert one.stdout.readline() == "ready\n"
    for one in running:
        assert one.stdin is not None
        one.stdin.write("go\n")
        one.stdin.flush()
    return [one.communicate()[0] for one in running]


READY = "print('ready', flush=True); sys.stdin.readline()\n"


def test_states(opened: Open) -> None:
    """New, started, passed; a later failure does not take a pass away."""
    journal = opened()
    assert journal.progress() == {}
    assert not journal.path.exists(), "asking makes no file"
    journal.record_start("gqa", Path("/a/gqa.py"), 1.0)
    assert journal.progress()["gqa"].state == "started"
    journal.record_attempt(attempt("passed"))
    journal.record_attempt(attempt("failed", 3.0))
    assert (journal.progress()["gqa"].state, journal.progress()["gqa"].attempts) == ("passed", 2)
    assert journal.trouble is None


def test_a_hunt_is_no_attempt_at_the_challenge(opened: Open) -> None:
    """Who repairs a reference has not written one: no state, no count, no seed, nothing since the start."""
    journal = opened()
    journal.record_attempt(attempt("passed", 2.0, purpose="hunt"))
    assert journal.progress() == {}
    assert journal.last_seed("gqa") is None
    assert journal.since_start("gqa") == Since()
    assert [one.purpose for one in journal.attempts()] == ["hunt"], "it is kept all the same"
    journal.record_hint("gqa", 1, 3.0)
    assert journal.progress() == {"gqa": ChallengeProgress("new", 0, 1)}
    journal.record_attempt(attempt("failed", 4.0, purpose="interview"))
    assert journal.progress() == {"gqa": ChallengeProgress("started", 1, 1)}


def test_replaced_attempt_does_not_count(opened: Open) -> None:
    """It stays in the journal, with its seed and its time; no count, no state and no grade know of it."""
    journal = opened()
    journal.record_start("gqa", Path("/a/gqa.py"), 1.0)
    first = journal.record_attempt(attempt("failed", 2.0, seconds=600.0))
    journal.record_attempt(attempt("failed", 3.0, seconds=610.0))
    journal.record_replaced(first, 2.5)
    since = journal.since_start("gqa")
    assert (since.attempts, since.failed, since.seconds) == (1, 1, 610.0)
    assert journal.progress() == {"gqa": ChallengeProgress("started", 1, 0)}
    assert [row.when for row in journal.attempts()] == [3.0]
    assert [row.when for row in journal.attempts(replaced=True)] == [2.0, 3.0]
    only = journal.record_attempt(Attempt("mha", 4.0, 99, "failed", 0, 1, ""))
    journal.record_replaced(only, 5.0)
    assert "mha" not in journal.progress()
    assert journal.last_seed("mha") == 99, "what was shown can be looked at again"


def test_place_and_hints(opened: Open) -> None:
    """The last start's place; hints and solutions count from the last start on."""
    journal = opened()
    journal.record_start("gqa", Path("/a/gqa.py"), 1.0)
    journal.record_hint("gqa", 2, 2.0)
    journal.record_hint("gqa", 1, 2.5)
    journal.record_solution("gqa", 2.6)
    assert (journal.since_start("gqa").hint, journal.since_start("gqa").solution) == (2, True)
    journal.record_start("gqa", Path("/b/gqa.py"), 3.0, "guided")
    assert journal.path_of("gqa") == Path("/b/gqa.py")
    assert (journal.since_start("gqa").hint, journal.since_start("gqa").solution) == (0, False)
    assert journal.path_of("mha") is None
    assert journal.starts() == {"gqa": (1.0, 3.0)}


def test_what_was_done_since_the_start(opened: Open) -> None:
    """Attempts, failures and a pass after the last start, and none before it or of another challenge."""
    journal = opened()
    journal.record_attempt(attempt("passed", 5.0))
    assert journal.since_start("gqa").started_at is None
    assert journal.since_start("gqa").passed, "where nothing was handed out, all that there is"
    journal.record_start("gqa", Path("/a/gqa.py"), 10.0)
    assert not journal.since_start("gqa").passed
    for when, verdict in (
        (20.0, "failed"),
        (30.0, "error"),
        (40.0, "timeout"),
        (50.0, "passed"),
        (60.0, "failed"),
    ):
        journal.record_attempt(attempt(verdict, when))
    journal.record_attempt(Attempt("mha", 55.0, 1, "failed", 0, 1, ""))
    since = journal.since_start("gqa")
    assert (since.started_at, since.last_at, since.attempts, since.failed, since.passed) == (
        10.0,
        60.0,
        5,
        4,
        True,
    )


def test_seconds_leave_out_pauses(opened: Open) -> None:
    """Time runs from entry to entry, hints among them; of a long gap a quarter of an hour counts; what an attempt says of itself goes before."""
    journal = opened()
    journal.record_start("gqa", Path("/a/gqa.py"), 1000.0)
    assert journal.since_start("gqa").seconds_at(1060.0) == 60.0
    journal.record_hint("gqa", 1, 1600.0)
    journal.record_attempt(attempt("failed", 2200.0))
    assert journal.since_start("gqa").seconds == 1200.0, (
        "two gaps of ten minutes, with a hint between"
    )
    assert journal.since_start("gqa").seconds_at(2200.0 + 86_400) == 1200.0 + 900
    journal.record_attempt(attempt("failed", 90_000.0, seconds=1500.0))
    assert journal.since_start("gqa").seconds_at(90_030.0) == 1530.0
    assert journal.since_start("mha").seconds_at(5.0) == 0.0, "no start, no time"


def test_a_clock_that_goes_backwards(opened: Open) -> None:
    """No time is taken away, nothing is lost, and the order of what is told is by time."""
    journal = opened()
    journal.record_start("gqa", Path("/a/gqa.py"), 100.0)
    assert journal.since_start("gqa").seconds_at(40.0) == 0.0
    journal.record_attempt(attempt("failed", 110.0))
    journal.record_attempt(attempt("passed", 105.0))
    assert [one.when for one in journal.attempts()] == [105.0, 110.0]
    since = journal.since_start("gqa")
    assert (since.seconds, since.attempts, since.last_at) == (10.0, 2, 110.0)
    journal.record_attempt(attempt("passed", 50.0))
    assert journal.progress()["gqa"].attempts == 3


def test_an_attempt_comes_back_as_it_was(opened: Open) -> None:
    """Everything but the source, and the mistakes that were named later."""
    journal = opened()
    given = attempt(
        "failed",
        2.0,
        checks={"loads": "passed", "values": "failed"},
        seconds=61.5,
        hints=2,
        solution=True,
        purpose="review",
    )
    first = journal.record_attempt(given)
    journal.record_attempt(attempt("passed", 1.0))
    journal.record_diagnosis(first, ["no-scale", "mask-after"], 12)
    earlier, later = opened().attempts()
    assert earlier.when == 1.0
    assert earlier.seconds is None
    assert earlier.mistakes == ()
    assert (later.checks, later.seconds, later.hints, later.solution, later.purpose) == (
        given.checks,
        61.5,
        2,
        True,
        "review",
    )
    assert later.mistakes == ("no-scale", "mask-after")


def test_reviews_and_overrules(opened: Open) -> None:
    """The last overrule counts, the review stays; reviews are told apart by how their items begin."""
    journal = opened()
    first = journal.record_review("challenge:gqa", 2.0, 3, "20 of 20 min")
    second = journal.record_review("question:sqrt%", 1.0, 1, "wrong")
    assert first != second
    journal.overrule(first, 3.0, 4)
    journal.overrule(first, 4.0, 2)
    assert opened().reviews() == [
        Review(second, "question:sqrt%", 1.0, 1, "wrong"),
        Review(first, "challenge:gqa", 2.0, 2, "20 of 20 min"),
    ]
    assert [one.id for one in journal.reviews("challenge:")] == [first]
    assert journal.reviews("challenge:%") == []


def test_hunts(opened: Open) -> None:
    """The last hunt of a challenge, with its mistakes and its place."""
    journal = opened()
    assert journal.last_hunt("gqa") is None
    journal.record_hunt("gqa", 1.0, ["a"], Path("/a.py"))
    journal.record_hunt("gqa", 2.0, ["b", "c"], Path("/b.py"))
    journal.record_hunt("mha", 3.0, ["d"], Path("/d.py"))
    assert opened().last_hunt("gqa") == (("b", "c"), Path("/b.py"))


def test_interviews_and_events(opened: Open) -> None:
    """The last interview with its plan; its events in the order in which they came, also where the clock went back."""
    journal = opened()
    assert journal.last_interview() is None
    journal.record_interview(1.0, {"minutes": 30})
    interview = journal.record_interview(2.0, {"minutes": 45, "parts": ["gqa", {"quiz": 3}]})
    journal.record_event(interview, 5.0, "part", {"number": 1})
    journal.record_event(interview, 4.0, "answer", {"right": True})
    journal.record_event("another", 4.0, "answer", {})
    assert opened().last_interview() == (
        interview,
        2.0,
        {"minutes": 45, "parts": ["gqa", {"quiz": 3}]},
    )
    assert journal.events(interview) == [
        (5.0, "part", {"number": 1}),
        (4.0, "answer", {"right": True}),
    ]


def test_the_last_seed(opened: Open) -> None:
    """Of the latest attempt at this challenge."""
    journal = opened()
    journal.record_attempt(Attempt("gqa", 2.0, (1 << 63) - 1, "failed", 0, 1, ""))
    journal.record_attempt(Attempt("gqa", 1.0, 5, "failed", 0, 1, ""))
    journal.record_attempt(Attempt("mha", 3.0, 6, "failed", 0, 1, ""))
    assert journal.last_seed("gqa") == (1 << 63) - 1


def test_text_of_any_kind(opened: Open, tmp_path: Path) -> None:
    """NUL, newlines and emoji come back; half of a surrogate pair, as in a folder's name that is no UTF-8, is spelt out and stops nothing."""
    journal = opened()
    journal.record_attempt(Attempt("gqa", 1.0, 1, "failed", 0, 1, "a\0b\r\n🙂\u2028"))
    journal.record_attempt(Attempt("gqa", 2.0, 1, "failed", 0, 1, "\ud800"))
    journal.record_start("gqa", Path(os.fsdecode(b"/a/\xff/gqa.py")), 1.0)
    assert journal.trouble is None
    assert [row["source"] for table, row in journal.rows() if table == "attempts"] == [
        "a\0b\r\n🙂\u2028",
        "\\ud800",
    ]
    assert journal.path_of("gqa") == Path("/a/\\udcff/gqa.py")
    assert journal.progress().get("\udcff") is None
    assert journal.path_of("\udcff") is None


def test_two_processes_at_once(opened: Open, home: Path) -> None:
    """Journals on one file write in turn, from the very first entry."""
    told = all_at_once(
        [
            script(f"{READY}for i in range(30): j.record_hint('gqa', 1, i)\nprint(j.trouble)", home)
            for _ in range(4)
        ]
    )
    assert told == ["None\n"] * 4
    assert opened().progress()["gqa"].hints == 120


def test_a_kill_loses_nothing_that_was_there(home: Path) -> None:
    """kill -9 at any moment: every entry that was reported as written is there, and the file is whole."""
    text = "n = int(sys.argv[2])\nwhile True:\n    n += 1\n    j.record_hint('gqa', 1, n)\n    print(n, flush=True)"
    written = 0
    for delay in (0.0, 0.003, 0.01, 0.02, 0.05):
        process = subprocess.Popen(
            script(text, home, written), stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        assert process.stdout is not None
        told = [process.stdout.readline()]
        time.sleep(delay)
        os.kill(process.pid, signal.SIGKILL)
        told += process.stdout.readlines()
        process.wait()
        process.stdout.close()
        written = max(int(line) for line in told if line.strip().isdigit())
        assert asked(home / "journal.sqlite3", "PRAGMA integrity_check") == [("ok",)]
        ((kept,),) = asked(home / "journal.sqlite3", "SELECT MAX(at) FROM hints")
        assert isinstance(kept, float)
        assert kept >= written
        written = int(kept)


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


def test_a_full_disk(opened: Open, home: Path) -> None:
    """Where a file cannot grow any more a sentence says so and the rest goes on; what was reported before is there, and later there is room again."""
    text = """
import resource
from trainer.model.attempt import Attempt
limit = int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_FSIZE, (limit, limit))
for n in range(200):
    j.record_attempt(Attempt('gqa', float(n), 1, 'failed', 0, 1, 'x' * 3000))
    if j.trouble: break
print(n, j.trouble)
"""
    for limit in (0, 5000, 200_000):
        done = subprocess.run(
            script(text, home, limit), cwd=ROOT, capture_output=True, text=True, check=True
        )
        number, _, trouble = done.stdout.strip().partition(" ")
        assert "progress is not kept" in trouble or "this was not kept" in trouble, done.stdout
        assert int(number) < 199
        kept = (
            asked(
                home / "journal.sqlite3",
                "SELECT COUNT(*) FROM sqlite_master WHERE name = 'attempts'",
            )
            == [(1,)]
            if limit
            else False
        )
        assert (
            asked(home / "journal.sqlite3", "SELECT COUNT(*) FROM attempts") if kept else [(0,)]
        ) == [(int(number),)]
    assert int(number) > 0
    journal = opened()
    journal.record_attempt(attempt())
    assert journal.trouble is None
    assert journal.progress()["gqa"].attempts == int(number) + 1


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


def test_home_is_taken_from_the_environment() -> None:
    """ATTN_DRILL_HOME wins; else the platform's folder; a `~` of nobody is a folder of that name."""
    assert home({"ATTN_DRILL_HOME": "/x/y"}) == Path("/x/y")
    assert home({"ATTN_DRILL_HOME": "~/y"}) == Path.home() / "y"
    assert home({"ATTN_DRILL_HOME": "~nobody-of-this-name/y"}) == Path("~nobody-of-this-name/y")
    assert home({}).name == "attn-drill"
