"""The journal loses nothing and never stands in the way."""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.exchange import HEADER, HINT, everything, filled, taken
from tests.support.journal import READY, ROOT, Open, all_at_once, asked, attempt, script
from trainer.model.attempt import Attempt
from trainer.model.errors import DrillError
from trainer.practice.journal import ChallengeProgress, Review, Since, home


def test_a_row_that_was_edited(home: Path) -> None:
    """The same id with other content: none of the file's rows is added, and the sentence names row and column."""
    with contextlib.closing(filled(home)) as journal:
        before = everything(journal)
        table, row = journal.rows()[0]
        with pytest.raises(
            DrillError, match=f"{row['id']}.*with another challenge, at.*Nothing was added"
        ):
            journal.add_rows(
                [*taken(HEADER + HINT), (table, {**row, "challenge": "mha", "at": 5.0})]
            )
        assert everything(journal) == before
        assert journal.add_rows(taken(HEADER + HINT)) == 1, "the journal can still be used"


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


def test_home_is_taken_from_the_environment() -> None:
    """ATTN_DRILL_HOME wins; else the platform's folder; a `~` of nobody is a folder of that name."""
    assert home({"ATTN_DRILL_HOME": "/x/y"}) == Path("/x/y")
    assert home({"ATTN_DRILL_HOME": "~/y"}) == Path.home() / "y"
    assert home({"ATTN_DRILL_HOME": "~nobody-of-this-name/y"}) == Path("~nobody-of-this-name/y")
    assert home({}).name == "attn-drill"
