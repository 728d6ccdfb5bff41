"""Attempts, hints, clock and grade of a session, without a screen."""

from dataclasses import replace
from pathlib import Path
from typing import Any
from unittest.mock import create_autospec

import pytest

from tests.support.fake_grader import report_on
from tests.support.session import GQA, Clock
from tests.support.session_interview import SITTING
from trainer.model.report import Repair
from trainer.practice.facts import Attempted, Hinted, Replaced, Started
from trainer.practice.journal import Journal
from trainer.practice.progress import counted_attempts, progress_of, since_start
from trainer.session.model import SessionRequest, StageRecorder
from trainer.session.session_state import SETTLE_SECONDS, SessionState


def state_on(file: Path, home: Path, clock: Clock, **options: Any) -> SessionState:
    """Return a session's state five minutes after the start of the challenge."""
    journal = Journal(home)
    journal.add(Started("gqa", clock() - 300, path=str(file)))
    request = SessionRequest(GQA, file, "", 300.0, 1200.0, **options)
    return SessionState(request, journal, clock, clock)


def save(state: SessionState, text: str) -> None:
    """Save a text and take its verdict at once."""
    state.note_save(text)
    state.take_verdict(report_on("gqa", "gqa.py", text, 1), text)


def test_wall_clock_that_goes_back_does_not_change_seconds(file: Path, home: Path) -> None:
    """The time of day may be set back. Seconds come from a clock that only goes forwards."""
    journal = Journal(home)
    journal.add(Started("gqa", 1000.0, path=str(file)))
    times = iter(range(2000, 0, -50))
    state = SessionState(
        SessionRequest(GQA, file, "", 5.0, 60.0),
        journal,
        lambda: float(next(times)),
        iter(range(100, 200)).__next__,
    )
    report = report_on("gqa", "gqa.py", "wrong", 1)
    for _ in range(3):
        state.take_verdict(report, "text")
    assert [attempt.seconds for attempt in counted_attempts(journal.facts())] == [8.0, 7.0, 6.0]
    assert since_start(Journal(home).facts(subject="gqa")).seconds_at(0.0) >= 0


def test_autosaved_text_is_not_an_attempt(file: Path, home: Path) -> None:
    """A right answer that was saved nine times during typing has no failed attempt."""
    clock = Clock()
    state = state_on(file, home, clock)
    for index in range(9):
        save(state, f"wrong {index}")
        clock.now += SETTLE_SECONDS - 0.5
    save(state, "right")
    assert state.grade_text == "graded easy: 6 of 20 min, no hint, 0 failed attempts"
    assert state.result("quit").attempts == 1
    journal = Journal(home)
    assert [attempt.verdict for attempt in counted_attempts(journal.facts())] == ["passed"]
    assert len(journal.facts(Attempted)) == 10, "the journal has all attempts"
    assert (
        since_start(journal.facts(subject="gqa")).failed,
        progress_of(journal.facts())["gqa"].attempts,
    ) == (0, 1)


def test_wrong_text_that_stays_is_an_attempt(file: Path, home: Path) -> None:
    """Nine wrong answers that each stay for a while are nine failed attempts."""
    clock = Clock()
    state = state_on(file, home, clock)
    for index in range(9):
        save(state, f"wrong {index}")
        clock.now += SETTLE_SECONDS
    save(state, "right")
    assert state.grade_text.startswith("graded hard: 6 of 20 min, no hint, 9 failed attempts")
    assert state.result("quit").attempts == 10


@pytest.mark.parametrize("purpose", ["practice", "review", "interview", "hunt"])
def test_unfinished_text_is_not_an_attempt(file: Path, home: Path, purpose: Any) -> None:
    """A file that does not parse is never in the journal, and the last verdict stays."""
    clock = Clock()
    state = state_on(file, home, clock, purpose=purpose)
    save(state, "wrong")
    clock.now += 60
    for index in range(9):
        save(state, f"half {index}")
        state.take_diagnosis(report_on("gqa", "gqa.py", f"half {index}", 1))
        clock.now += 60
        assert state.unfinished is not None
        assert state.last is not None
        assert (state.last.verdict, state.last_source) == ("failed", "wrong")
    verdicts = [attempt.verdict for attempt in Journal(home).facts(Attempted)]
    assert verdicts == ["failed"]
    save(state, "right")
    assert state.unfinished is None
    assert state.result("quit").attempts == 2


def test_unfinished_text_takes_back_the_verdict_before_it(file: Path, home: Path) -> None:
    """A line may parse by chance in the middle of typing. A second later it does not parse."""
    clock = Clock()
    state = state_on(file, home, clock)
    save(state, "wrong")
    clock.now += 1
    save(state, "half")
    assert state.result("quit").attempts == 0
    assert counted_attempts(Journal(home).facts()) == []


def test_pass_and_requested_verdict_are_never_taken_back(file: Path, home: Path) -> None:
    """The last verdict before the learner leaves counts too."""
    clock = Clock()
    state = state_on(file, home, clock)
    save(state, "wrong 1")
    state.note_save("wrong 1")  # the same text does not take the attempt back
    state.take_verdict(report_on("gqa", "gqa.py", "wrong 1", 2), "wrong 1", is_requested=True)
    save(state, "right")
    save(state, "wrong 2")
    assert state.result("quit").attempts == 4
    assert [attempt.verdict for attempt in counted_attempts(Journal(home).facts())] == [
        "failed",
        "failed",
        "passed",
        "failed",
    ]


def test_attempt_is_taken_back_only_once(file: Path, home: Path) -> None:
    """Several saves without a verdict take back one attempt."""
    clock = Clock()
    state = state_on(file, home, clock)
    save(state, "wrong 1")
    clock.now += SETTLE_SECONDS
    save(state, "wrong 2")
    for index in range(3):
        state.note_save(f"slow {index}")
    assert state.result("quit").attempts == 1
    assert len(Journal(home).facts(Replaced)) == 1


def test_reset_does_not_stop_the_clock_of_an_interview(file: Path, home: Path) -> None:
    """A reset keeps the clock of an interview and restarts the clock of practice."""
    clock = Clock()
    interview = state_on(file, home, clock, purpose="interview", sitting=SITTING)
    interview.begin()
    clock.now += 60
    interview.restart()
    assert interview.seconds == 360.0
    assert interview.seconds_left == 1740.0
    practice = state_on(file, home, clock)
    clock.now += 60
    practice.restart()
    assert practice.seconds == 0.0


def test_pass_in_an_interview_is_graded(file: Path, home: Path) -> None:
    """An interview counts a pass at once, as practice does, and the pass is a review."""
    state = state_on(file, home, Clock(), purpose="interview", sitting=SITTING)
    state.begin()
    save(state, "right")
    assert (state.passed, state.can_overrule) == (True, True)


def test_clock_stops_at_the_pass(file: Path, home: Path) -> None:
    """The time with the notes and the questions does not count. A fresh stub starts the clock."""
    clock = Clock()
    state = state_on(file, home, clock)
    clock.now += 60
    save(state, "right")
    clock.now += 600
    state.touch()
    assert (state.seconds, state.result("quit").seconds) == (360.0, 360.0)
    save(state, "wrong 1")
    save(state, "right, more simply")
    assert state.seconds == 360.0
    assert {attempt.seconds for attempt in Journal(home).facts(Attempted)} == {360.0}
    state.restart()
    clock.now += 5
    assert state.seconds == 5.0


def test_clock_does_not_stop_at_a_failure_or_in_an_interview(file: Path, home: Path) -> None:
    """The clock of an interview is for the whole interview."""
    clock = Clock()
    failed = state_on(file, home, clock)
    save(failed, "wrong")
    interview = state_on(file, home, clock, purpose="interview", sitting=SITTING)
    interview.begin()
    save(interview, "right")
    clock.now += 60
    assert (failed.seconds, interview.seconds) == (360.0, 360.0)


def test_interview_is_told_what_happens(file: Path, home: Path) -> None:
    """Its hints are no hints of practice, and a fresh stub is neither guided nor a start."""
    clock = Clock()
    recorder = create_autospec(StageRecorder, instance=True)
    journal = Journal(home)
    journal.add(Hinted("gqa", clock() - 310, level=1))
    options = {"purpose": "interview", "sitting": replace(SITTING, recorder=recorder)}
    state = state_on(file, home, clock, **options)
    journal.add(Started("gqa", clock() - 300, path=str(file), level="guided"))
    before = len(journal.facts(Started, Hinted))
    state.begin()
    state.take_hint()
    save(state, "wrong")
    clock.now += 1
    save(state, "right")
    state.note_revealed()
    repaired = replace(report_on("gqa", "gqa.py", "right", 1), repair=Repair(2, ()))
    state.take_diagnosis(repaired)
    state.restart()
    state.result("quit")
    names = ["hinted", "attempted", "replaced", "attempted", "revealed", "repaired", "left"]
    assert [call[0] for call in recorder.method_calls] == names
    recorder.hinted.assert_called_once_with(1, 300.0)
    recorder.repaired.assert_called_once_with(0)
    assert len(journal.facts(Started, Hinted)) == before
    assert state.level == "standard"
