"""Tests of the journal: no entry gets lost, and a broken file never stops the program."""

import contextlib
import os
import signal
import subprocess
import time
from pathlib import Path

import pytest

from tests.support.exchange import HEADER, HINT, exported, filled_journal, read_rows
from tests.support.journal import READY, ROOT, Open, attempt, query, run_together, script
from trainer.model.errors import DrillError
from trainer.practice.attempt import Attempt
from trainer.practice.journal import ChallengeProgress, Review, SinceStart, home


def test_edited_row_is_not_imported(home: Path) -> None:
    """A row with a known id and other values adds no row of the file.

    The message names row and columns.
    """
    with contextlib.closing(filled_journal(home)) as journal:
        before = exported(journal)
        table, row = journal.rows()[0]
        with pytest.raises(
            DrillError, match=f"{row['id']}.*with another challenge, at.*Nothing was added"
        ):
            journal.add_rows(
                [*read_rows(HEADER + HINT), (table, {**row, "challenge": "mha", "at": 5.0})]
            )
        assert exported(journal) == before
        assert journal.add_rows(read_rows(HEADER + HINT)) == 1, "the journal can still be used"


def test_state_is_new_started_or_passed(opened: Open) -> None:
    """A later failure does not undo a pass."""
    journal = opened()
    assert journal.progress() == {}
    assert not journal.path.exists(), "a query creates no file"
    journal.record_start("gqa", Path("/a/gqa.py"), 1.0)
    assert journal.progress()["gqa"].state == "started"
    journal.record_attempt(attempt("passed"))
    journal.record_attempt(attempt("failed", 3.0))
    assert (journal.progress()["gqa"].state, journal.progress()["gqa"].attempts) == ("passed", 2)
    assert journal.trouble is None


def test_hunt_does_not_count_as_an_attempt(opened: Open) -> None:
    """It changes no state, no count, no seed, and nothing since the start."""
    journal = opened()
    journal.record_attempt(attempt("passed", 2.0, purpose="hunt"))
    assert journal.progress() == {}
    assert journal.last_seed("gqa") is None
    assert journal.since_start("gqa") == SinceStart()
    assert [entry.purpose for entry in journal.attempts()] == ["hunt"], "the journal has it"
    journal.record_hint("gqa", 1, 3.0)
    assert journal.progress() == {"gqa": ChallengeProgress("new", 0, 1)}
    journal.record_attempt(attempt("failed", 4.0, purpose="interview"))
    assert journal.progress() == {"gqa": ChallengeProgress("started", 1, 1)}


def test_replaced_attempt_does_not_count(opened: Open) -> None:
    """The journal keeps its seed and its time, but no count, state or grade includes it."""
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
    assert journal.last_seed("mha") == 99, "the shown cases can be graded again"


def test_path_and_help_belong_to_the_last_start(opened: Open) -> None:
    """Return the path of the last start. Hints and solutions count from the last start on."""
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


def test_last_start_belongs_to_the_latest_time(opened: Open) -> None:
    """Of two starts at the same time, the one that was recorded later counts."""
    journal = opened()
    assert journal.last_started() is None
    journal.record_attempt(attempt("passed", 9.0))
    journal.record_hunt("mqa", 9.5, ("no-scale",), Path("/a/mqa_hunt.py"))
    assert journal.last_started() is None, "neither an attempt nor a hunt is a start"
    journal.record_start("mha", Path("/a/mha.py"), 3.0)
    journal.record_start("gqa", Path("/a/gqa.py"), 2.0)
    assert journal.last_started() == "mha"
    journal.record_start("sdpa", Path("/a/sdpa.py"), 3.0)
    assert opened().last_started() == "sdpa"
    journal.record_start("gqa", Path("/a/gqa.py"), 4.0)
    assert journal.last_started() == "gqa"


def test_resumption_makes_a_challenge_the_last_and_keeps_its_start(opened: Open) -> None:
    """The clock, the hints and the path are those of the start."""
    journal = opened()
    journal.record_start("gqa", Path("/a/gqa.py"), 1.0, "guided")
    journal.record_hint("gqa", 2, 2.0)
    journal.record_start("mha", Path("/a/mha.py"), 3.0)
    before = journal.since_start("gqa")
    journal.record_resumption("gqa", 4.0)
    assert opened().last_started() == "gqa"
    assert journal.since_start("gqa") == before
    assert journal.path_of("gqa") == Path("/a/gqa.py")
    assert journal.starts()["gqa"] == (1.0,)


def test_journal_that_cannot_be_read_has_no_last_start(opened: Open, home: Path) -> None:
    """A command then asks for the id."""
    home.write_text("not a folder")
    assert opened().last_started() is None


def test_attempts_count_since_the_last_start(opened: Open) -> None:
    """Attempts before the start, and attempts at other challenges, do not count."""
    journal = opened()
    journal.record_attempt(attempt("passed", 5.0))
    assert journal.since_start("gqa").started_at is None
    assert journal.since_start("gqa").passed, "without a start, all attempts count"
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
    """Time is counted from entry to entry, and hints are entries too.

    Of a long gap, 15 minutes count. The seconds of an attempt replace the count.
    """
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


def test_clock_that_goes_backwards_takes_no_time_away(opened: Open) -> None:
    """All entries are kept, in the order of their times."""
    journal = opened()
    journal.record_start("gqa", Path("/a/gqa.py"), 100.0)
    assert journal.since_start("gqa").seconds_at(40.0) == 0.0
    journal.record_attempt(attempt("failed", 110.0))
    journal.record_attempt(attempt("passed", 105.0))
    assert [entry.when for entry in journal.attempts()] == [105.0, 110.0]
    since = journal.since_start("gqa")
    assert (since.seconds, since.attempts, since.last_at) == (10.0, 2, 110.0)
    journal.record_attempt(attempt("passed", 50.0))
    assert journal.progress()["gqa"].attempts == 3


def test_attempt_is_read_as_it_was_written(opened: Open) -> None:
    """Only the source is left out. The diagnosed mistakes are added."""
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


def test_last_overrule_of_a_review_counts(opened: Open) -> None:
    """The review itself stays. Reviews can be selected by the beginning of their items."""
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
    assert [review.id for review in journal.reviews("challenge:")] == [first]
    assert journal.reviews("challenge:%") == []


def test_last_hunt_has_mistakes_and_path(opened: Open) -> None:
    """Only hunts of the same challenge count."""
    journal = opened()
    assert journal.last_hunt("gqa") is None
    journal.record_hunt("gqa", 1.0, ["a"], Path("/a.py"))
    journal.record_hunt("gqa", 2.0, ["b", "c"], Path("/b.py"))
    journal.record_hunt("mha", 3.0, ["d"], Path("/d.py"))
    assert opened().last_hunt("gqa") == (("b", "c"), Path("/b.py"))


def test_hunt_verdicts_are_those_of_the_last_hunt(opened: Open) -> None:
    """Attempts at the stub, at an earlier hunt and attempts that do not count are left out."""
    journal = opened()
    assert journal.hunt_verdicts("gqa") == []
    journal.record_hunt("gqa", 1.0, ["a"], Path("/a.py"))
    journal.record_attempt(attempt("passed", 2.0, purpose="hunt"))
    journal.record_hunt("gqa", 3.0, ["b"], Path("/a.py"))
    journal.record_hunt("mha", 9.0, ["b"], Path("/b.py"))
    journal.record_attempt(attempt("failed", 4.0, purpose="hunt"))
    journal.record_attempt(attempt("passed", 5.0))
    replaced = journal.record_attempt(attempt("error", 6.0, purpose="hunt"))
    journal.record_replaced(replaced, 6.5)
    journal.record_attempt(attempt("passed", 7.0, purpose="hunt"))
    assert opened().hunt_verdicts("gqa") == ["failed", "passed"]


def test_events_of_an_interview_are_in_order_of_recording(opened: Open) -> None:
    """The order stays the same if the clock went backwards."""
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


def test_last_seed_is_that_of_the_latest_attempt(opened: Open) -> None:
    """Only attempts at the same challenge count."""
    journal = opened()
    journal.record_attempt(Attempt("gqa", 2.0, (1 << 63) - 1, "failed", 0, 1, ""))
    journal.record_attempt(Attempt("gqa", 1.0, 5, "failed", 0, 1, ""))
    journal.record_attempt(Attempt("mha", 3.0, 6, "failed", 0, 1, ""))
    assert journal.last_seed("gqa") == (1 << 63) - 1


def test_any_text_can_be_recorded(opened: Open, tmp_path: Path) -> None:
    """NUL, newlines and emoji are kept.

    A lone surrogate, as in a file name that is not UTF-8, becomes a backslash escape.
    """
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


def test_four_processes_write_at_once(opened: Open, home: Path) -> None:
    """No entry is lost, from the first entry on."""
    outputs = run_together(
        [
            script(f"{READY}for i in range(30): j.record_hint('gqa', 1, i)\nprint(j.trouble)", home)
            for _ in range(4)
        ]
    )
    assert outputs == ["None\n"] * 4
    assert opened().progress()["gqa"].hints == 120


def test_kill_loses_no_recorded_entry(home: Path) -> None:
    """kill -9 may come at any moment: all reported entries are there, and the file is intact."""
    text = """
n = int(sys.argv[2])
while True:
    n += 1
    j.record_hint('gqa', 1, n)
    print(n, flush=True)
"""
    written = 0
    for delay in (0.0, 0.003, 0.01, 0.02, 0.05):
        process = subprocess.Popen(
            script(text, home, written), stdout=subprocess.PIPE, text=True, cwd=ROOT
        )
        assert process.stdout is not None
        lines = [process.stdout.readline()]
        time.sleep(delay)
        os.kill(process.pid, signal.SIGKILL)
        lines += process.stdout.readlines()
        process.wait()
        process.stdout.close()
        written = max(int(line) for line in lines if line.strip().isdigit())
        assert query(home / "journal.sqlite3", "PRAGMA integrity_check") == [("ok",)]
        ((last,),) = query(home / "journal.sqlite3", "SELECT MAX(at) FROM hints")
        assert isinstance(last, float)
        assert last >= written
        written = int(last)


def test_full_disk_is_reported_and_loses_no_entry(opened: Open, home: Path) -> None:
    """Everything else goes on. Later, when there is space again, entries are recorded again."""
    text = """
import resource
from trainer.practice.attempt import Attempt
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
        count, _, trouble = done.stdout.strip().partition(" ")
        assert "progress is not kept" in trouble or "this entry was not kept" in trouble, (
            done.stdout
        )
        assert int(count) < 199
        has_table = (
            query(
                home / "journal.sqlite3",
                "SELECT COUNT(*) FROM sqlite_master WHERE name = 'attempts'",
            )
            == [(1,)]
            if limit
            else False
        )
        assert (
            query(home / "journal.sqlite3", "SELECT COUNT(*) FROM attempts")
            if has_table
            else [(0,)]
        ) == [(int(count),)]
    assert int(count) > 0
    journal = opened()
    journal.record_attempt(attempt())
    assert journal.trouble is None
    assert journal.progress()["gqa"].attempts == int(count) + 1


def test_home_is_taken_from_the_environment() -> None:
    """ATTN_DRILL_HOME wins over the platform folder.

    `~name` without such a user is a plain folder name.
    """
    assert home({"ATTN_DRILL_HOME": "/x/y"}) == Path("/x/y")
    assert home({"ATTN_DRILL_HOME": "~/y"}) == Path.home() / "y"
    assert home({"ATTN_DRILL_HOME": "~nobody-of-this-name/y"}) == Path("~nobody-of-this-name/y")
    assert home({}).name == "attn-drill"
