"""The session's screen, driven by Textual's pilot and, as a user would, in a terminal."""

from pathlib import Path
from typing import Any

import pytest

from tests.support.fake_grader import report_on
from tests.support.session import GQA, Clock
from tests.support.session_interview import SITTING
from trainer.practice.journal import Journal
from trainer.session.model import SessionRequest
from trainer.session.session_state import SETTLE_SECONDS, SessionState


def test_a_clock_that_goes_backwards(file: Path, home: Path) -> None:
    """The time of day may be set back under a session: seconds stay what a forward clock says, never less than none."""
    journal = Journal(home)
    journal.record_start("gqa", file, 1000.0)
    times = iter(range(2000, 0, -50))
    practice = SessionState(
        SessionRequest(GQA, file, "", 5.0, 60.0),
        journal,
        lambda: float(next(times)),
        iter(range(100, 200)).__next__,
    )
    report = report_on("gqa", "gqa.py", "wrong", 1)
    for _ in range(3):
        practice.attempted(report, "text")
    assert [one.seconds for one in journal.attempts()] == [8.0, 7.0, 6.0]
    assert Journal(home).since_start("gqa").seconds_at(0.0) >= 0


def practice_on(file: Path, home: Path, clock: Clock, **stay: Any) -> SessionState:
    """A practice without a screen, five minutes after its start."""
    journal = Journal(home)
    journal.record_start("gqa", file, clock() - 300)
    return SessionState(SessionRequest(GQA, file, "", 300.0, 1200.0, **stay), journal, clock, clock)


def save(practice: SessionState, text: str) -> None:
    """Save a text and have its verdict at once."""
    practice.saved(text)
    practice.attempted(report_on("gqa", "gqa.py", text, 1), text)


def test_autosaved_texts_are_no_failed_attempts(file: Path, home: Path) -> None:
    """A right answer that was saved nine times while it was typed is easy: it has no failed attempt."""
    clock = Clock()
    practice = practice_on(file, home, clock)
    for number in range(9):
        save(practice, f"wrong {number}")
        clock.now += SETTLE_SECONDS - 0.5
    save(practice, "right")
    assert practice.graded == "graded easy: 6 of 20 min, no hint, 0 failed attempts"
    assert practice.left("quit").attempts == 1
    journal = Journal(home)
    assert [row.verdict for row in journal.attempts()] == ["passed"]
    assert len(journal.attempts(replaced=True)) == 10, "all are kept"
    assert (journal.since_start("gqa").failed, journal.progress()["gqa"].attempts) == (0, 1)


def test_verdict_that_stood_counts(file: Path, home: Path) -> None:
    """Nine wrong answers, each of which stood for a while, are nine failed attempts."""
    clock = Clock()
    practice = practice_on(file, home, clock)
    for number in range(9):
        save(practice, f"wrong {number}")
        clock.now += SETTLE_SECONDS
    save(practice, "right")
    assert practice.graded.startswith("graded hard: 6 of 20 min, no hint, 9 failed attempts")
    assert practice.left("quit").attempts == 10


@pytest.mark.parametrize("purpose", ["practice", "review", "interview", "hunt"])
def test_unfinished_text_is_no_attempt(file: Path, home: Path, purpose: Any) -> None:
    """A file that does not parse is not in the journal, however long it stands; the last verdict stays."""
    clock = Clock()
    practice = practice_on(file, home, clock, purpose=purpose)
    save(practice, "wrong")
    clock.now += 60
    for number in range(9):
        save(practice, f"half {number}")
        practice.diagnosed(report_on("gqa", "gqa.py", f"half {number}", 1))
        clock.now += 60
        assert practice.unfinished is not None
        assert practice.last is not None
        assert (practice.last.verdict, practice.last_source) == ("failed", "wrong")
    assert [row.verdict for row in Journal(home).attempts(replaced=True)] == ["failed"]
    save(practice, "right")
    assert practice.unfinished is None
    assert practice.left("quit").attempts == 2


def test_unfinished_text_takes_back_the_verdict_before_it(file: Path, home: Path) -> None:
    """A half-typed line that parsed by chance, and does not a second later, was no answer."""
    clock = Clock()
    practice = practice_on(file, home, clock)
    save(practice, "wrong")
    clock.now += 1
    save(practice, "half")
    assert practice.left("quit").attempts == 0
    assert Journal(home).attempts() == []


def test_what_counts_at_once(file: Path, home: Path) -> None:
    """A pass, a verdict that was asked for, and the last verdict before the learner leaves."""
    clock = Clock()
    practice = practice_on(file, home, clock)
    save(practice, "wrong 1")
    practice.saved("wrong 1")  # the same text once more replaces nothing
    practice.attempted(report_on("gqa", "gqa.py", "wrong 1", 2), "wrong 1", asked=True)
    save(practice, "right")
    save(practice, "wrong 2")
    assert practice.left("quit").attempts == 4
    assert [row.verdict for row in Journal(home).attempts()] == [
        "failed",
        "failed",
        "passed",
        "failed",
    ]


def test_each_attempt_is_taken_back_once(file: Path, home: Path) -> None:
    """Many saves that are not graded, one after the other, take back one attempt."""
    clock = Clock()
    practice = practice_on(file, home, clock)
    save(practice, "wrong 1")
    clock.now += SETTLE_SECONDS
    save(practice, "wrong 2")
    for number in range(3):
        practice.saved(f"slow {number}")
    assert practice.left("quit").attempts == 1
    assert [table for table, _ in Journal(home).rows()].count("replaced") == 1


def test_reset_does_not_stop_the_clock_of_an_interview(file: Path, home: Path) -> None:
    """A reset keeps the clock of an interview and restarts the clock of practice."""
    clock = Clock()
    practice = practice_on(file, home, clock, purpose="interview", sitting=SITTING)
    practice.begin()
    clock.now += 60
    practice.restart()
    assert practice.seconds == 360.0
    assert practice.seconds_left == 1740.0
    alone = practice_on(file, home, clock)
    clock.now += 60
    alone.restart()
    assert alone.seconds == 0.0


def test_pass_in_an_interview_has_no_grade(file: Path, home: Path) -> None:
    """An interview counts a pass at once, as practice does, and gives no grade for it."""
    practice = practice_on(file, home, Clock(), purpose="interview", sitting=SITTING)
    practice.begin()
    save(practice, "right")
    assert (practice.passed, practice.can_overrule) == (True, False)
