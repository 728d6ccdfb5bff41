"""Attempts, grade and time of a session, and their entries in the journal."""

from pathlib import Path
from typing import Any

import pytest

from attn_drill.practice.facts import Attempted, Replaced, Started
from attn_drill.practice.journal import Journal
from attn_drill.practice.progress import counted_attempts, progress_of, since_start
from attn_drill.session._session_record import SETTLE_SECONDS, SessionRecord
from tests.support.practice import Practice
from tests.support.session import Clock, request_on
from tests.support.sitting import sitting


@pytest.fixture
def practice(file: Path, home: Path) -> Practice:
    """Return a session whose grader is ready."""
    return Practice(file, home)


def grade_text(practice: Practice) -> str:
    """Return the grade of the pass in words."""
    return practice.model.record.grade_text


def verdicts(practice: Practice) -> list[str]:
    """Return the verdicts that count."""
    facts = practice.model.journal.facts()
    return [attempt.verdict for attempt in counted_attempts(facts)]


def test_autosaved_text_is_not_an_attempt(practice: Practice) -> None:
    """A right answer that was saved nine times during typing has no failed attempt."""
    for index in range(9):
        practice.save(f"wrong {index}")
        practice.clock.now += SETTLE_SECONDS - 0.5
    practice.save("right")
    assert grade_text(practice) == "graded easy: 6 of 20 min, no hint, 0 failed attempts"
    assert practice.model.record.result("quit").attempts == 1
    assert verdicts(practice) == ["passed"]
    facts = practice.model.journal.facts()
    assert sum(isinstance(fact, Attempted) for fact in facts) == 10, "the journal has all"
    assert (since_start(facts).failed, progress_of(facts)["gqa"].attempts) == (0, 1)


def test_wrong_text_that_stays_is_an_attempt(practice: Practice) -> None:
    """Nine wrong answers that each stay for a while are nine failed attempts."""
    for index in range(9):
        practice.save(f"wrong {index}")
        practice.clock.now += SETTLE_SECONDS
    practice.save("right")
    assert grade_text(practice).startswith("graded hard: 6 of 20 min, no hint, 9 failed attempts")
    assert practice.model.record.result("quit").attempts == 10


@pytest.mark.parametrize("purpose", ["practice", "review", "interview", "hunt"])
def test_unfinished_text_is_not_in_the_journal(file: Path, home: Path, purpose: Any) -> None:
    """This holds for every purpose."""
    practice = Practice(file, home, purpose=purpose)
    practice.save("wrong")
    for index in range(3):
        practice.clock.now += 60
        practice.save(f"half {index}")
    assert [attempt.verdict for attempt in Journal(home).facts(Attempted)] == ["failed"]


def test_unfinished_text_takes_back_the_verdict_before_it(practice: Practice) -> None:
    """A line may parse by chance in the middle of typing. A second later it does not parse."""
    practice.save("wrong")
    practice.clock.now += 1
    practice.save("half")
    assert practice.model.record.result("quit").attempts == 0
    assert verdicts(practice) == []


def test_pass_and_requested_verdict_are_never_taken_back(practice: Practice) -> None:
    """The last verdict before the learner leaves counts too."""
    practice.save("wrong 1")
    practice.press("again")  # the text that was graded does not take the attempt back
    practice.answer()
    practice.save("right")
    practice.save("wrong 2")
    assert practice.model.record.result("quit").attempts == 4
    assert verdicts(practice) == ["failed", "failed", "passed", "failed"]


def test_attempt_is_taken_back_only_once(practice: Practice) -> None:
    """Several saves without a verdict take back one attempt."""
    practice.save("wrong 1")
    practice.clock.now += SETTLE_SECONDS
    practice.save("wrong 2")
    for index in range(3):
        practice.write(f"slow {index}")
    assert practice.model.record.result("quit").attempts == 1
    assert len(practice.model.journal.facts(Replaced)) == 1


def test_wall_clock_that_goes_back_does_not_change_seconds(file: Path, home: Path) -> None:
    """The time of day may be set back. Seconds come from a clock that only goes forwards."""
    journal, clock = Journal(home), Clock()
    journal.add(Started("gqa", 1000.0, path=str(file)))
    times = iter(range(2000, 0, -50))
    request = request_on(file, seconds_before=5.0)
    record = SessionRecord(request, journal, lambda: float(next(times)), clock)
    report = Practice(file, home).save("wrong")
    for _ in range(3):
        clock.now += 1
        record.add_attempt(report, "text", is_requested=True)
    seconds = [attempt.seconds for attempt in journal.facts(Attempted) if attempt.source == "text"]
    assert sorted(seconds) == [6.0, 7.0, 8.0]  # type: ignore[type-var]


def test_clock_stops_at_the_pass_and_starts_with_a_fresh_stub(practice: Practice) -> None:
    """The time with the notes and the questions does not count."""
    practice.clock.now += 60
    practice.save("right")
    practice.clock.now += 600
    practice.save("wrong")
    practice.save("right, more simply")
    assert practice.model.record.result("quit").seconds == 360.0
    practice.press("reset")
    practice.clock.now += 5
    assert practice.model.record.result("quit").seconds == 5.0


def test_reset_does_not_stop_the_clock_of_an_interview(file: Path, home: Path) -> None:
    """The clock is for the whole interview."""
    practice = Practice(file, home, purpose="interview", sitting=sitting())
    practice.model.begin()
    practice.clock.now += 60
    practice.press("reset")
    assert practice.model.record.stopwatch.seconds == 360.0
    assert practice.model.seconds_left == 1740.0
