"""Tests of recording a verdict and grading the first pass."""

import pytest

from attn_drill.app.grade_file import (
    RecordedAttempt,
    record_diagnosis,
    write_attempt,
)
from attn_drill.packs import pack_reader
from attn_drill.practice.facts import (
    Attempted,
    Diagnosed,
    Hinted,
    Hunted,
    Revealed,
    StageBegan,
    StageHinted,
    Started,
)
from attn_drill.practice.journal import Journal
from attn_drill.practice.progress import counted_attempts, rated_reviews
from tests.support.fake_grader import report_on
from tests.support.journal import attempt as past_attempt

GQA = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")


def test_unfinished_file_is_not_recorded(journal: Journal) -> None:
    """The journal has no attempt, and no diagnosis can be recorded for it."""
    report = report_on("gqa", "gqa.py", "half", 1)
    recorded = write_attempt(journal, GQA, report, "half", 5.0, None, "practice")
    assert recorded == RecordedAttempt(None)
    record_diagnosis(journal, recorded.attempt, report, 5.0)
    assert journal.facts() == []


def test_first_pass_after_a_start_is_graded(journal: Journal) -> None:
    """A fast pass without help is easy. A second pass gives no second review."""
    journal.add(Started("gqa", 1000.0, path="/a/gqa.py"))
    report = report_on("gqa", "gqa.py", "right", 7)
    first = write_attempt(journal, GQA, report, "right", 1060.0, None, "practice")
    second = write_attempt(journal, GQA, report, "right", 1070.0, None, "practice")
    (review,) = rated_reviews(journal.facts())
    assert (review.id, review.item, review.rating) == (first.review, "challenge:gqa", 4)
    assert first.graded == f"graded easy: {review.reason}"
    assert (second.review, second.graded) == (None, "")
    assert [attempt.seconds for attempt in counted_attempts(journal.facts())] == [60.0, 70.0]


def test_given_seconds_replace_the_count_of_the_journal(journal: Journal) -> None:
    """A pass in three times the par time is hard."""
    journal.add(Started("gqa", 1000.0, path="/a/gqa.py"))
    report = report_on("gqa", "gqa.py", "right", 7)
    seconds = 3 * 60.0 * GQA.minutes
    write_attempt(journal, GQA, report, "right", 1060.0, seconds, "review")
    assert counted_attempts(journal.facts())[0].seconds == seconds
    assert rated_reviews(journal.facts())[0].rating == 2


def test_pass_without_a_start_is_good(journal: Journal) -> None:
    """The time at work is unknown, so it cannot be graded."""
    report = report_on("gqa", "gqa.py", "right", 7)
    recorded = write_attempt(journal, GQA, report, "right", 1060.0, None, "practice")
    assert recorded.graded == "graded good: no stub was handed out"
    assert rated_reviews(journal.facts())[0].rating == 3
    assert counted_attempts(journal.facts())[0].seconds is None


def test_failed_attempt_is_not_graded(journal: Journal) -> None:
    """The journal has the attempt and no review."""
    journal.add(Started("gqa", 1000.0, path="/a/gqa.py"))
    report = report_on("gqa", "gqa.py", "wrong", 7)
    recorded = write_attempt(journal, GQA, report, "wrong", 1060.0, None, "practice")
    assert recorded.attempt is not None
    assert recorded.review is None
    assert rated_reviews(journal.facts()) == []


def test_first_pass_in_an_interview_is_graded(journal: Journal) -> None:
    """The interview's own time and hints decide the grade, not those of an earlier practice."""
    journal.add(Started("gqa", 1.0, path="/a/gqa.py"))
    journal.add(Hinted("gqa", 2.0, level=3))
    journal.add(past_attempt("passed", 5.0))
    journal.add(StageBegan("gqa", 1000.0, interview="i"))
    journal.add(StageHinted("gqa", 1010.0, interview="i", seconds=10.0, level=1))
    report = report_on("gqa", "gqa.py", "right", 7)
    recorded = write_attempt(journal, GQA, report, "right", 99_000.0, 300.0, "interview")
    (review,) = rated_reviews(journal.facts())
    assert (review.id, review.item, review.rating) == (recorded.review, "challenge:gqa", 3)
    assert review.reason.startswith("5 of 20 min, 1 hint")
    again = write_attempt(journal, GQA, report, "right", 99_010.0, 310.0, "interview")
    assert (again.review, len(rated_reviews(journal.facts()))) == (None, 1)


def hunted(journal: Journal, source: str, now: float) -> RecordedAttempt:
    """Record an attempt at a hunt."""
    report = report_on("gqa", "gqa_hunt.py", source, 7)
    return write_attempt(journal, GQA, report, source, now, None, "hunt")


@pytest.mark.parametrize(
    ("failed", "rating", "reason"),
    [
        (0, 3, "bug hunt, 1 attempt"),
        (1, 3, "bug hunt, 2 attempts"),
        (2, 2, "bug hunt, 3 attempts"),
    ],
)
def test_passed_hunt_is_a_light_review(
    journal: Journal, failed: int, rating: int, reason: str
) -> None:
    """Only the first pass of a hunt counts, and attempts at an earlier hunt do not."""
    journal.add(past_attempt("passed", 5.0))
    journal.add(Hunted("gqa", 10.0, mistakes=("no-scale",), path="/a/gqa_hunt.py"))
    for _ in range(5):
        hunted(journal, "wrong", 11.0)
    journal.add(Hunted("gqa", 20.0, mistakes=("no-scale",), path="/a/gqa_hunt.py"))
    for _ in range(failed):
        assert hunted(journal, "wrong", 21.0).review is None
    recorded = hunted(journal, "right", 22.0)
    assert hunted(journal, "right", 23.0).review is None
    (review,) = rated_reviews(journal.facts())
    assert (review.id, review.item) == (recorded.review, "challenge:gqa")
    assert (review.rating, review.reason) == (rating, reason)
    assert recorded.graded == f"graded {('', 'again', 'hard', 'good')[rating]}: {reason}"


def test_repair_in_an_interview_is_a_light_review(journal: Journal) -> None:
    """It is graded although an earlier hunt of the challenge passed."""
    journal.add(past_attempt("passed", 5.0))
    journal.add(Hunted("gqa", 10.0, mistakes=("no-scale",), path="/a/gqa_hunt.py"))
    hunted(journal, "right", 11.0)
    journal.add(StageBegan("gqa", 20.0, interview="i"))
    assert hunted(journal, "right", 21.0).graded == "graded good: bug hunt, 1 attempt"


def test_hunt_of_a_challenge_that_was_never_passed_is_no_review(journal: Journal) -> None:
    """The first review of a challenge is a pass from the stub. A failed attempt does not count."""
    journal.add(past_attempt("failed", 5.0))
    journal.add(Hunted("gqa", 10.0, mistakes=("no-scale",), path="/a/gqa_hunt.py"))
    assert hunted(journal, "right", 11.0).review is None
    journal.add(Hunted("gqa", 20.0, mistakes=("no-scale",), path="/a/gqa_hunt.py"))
    assert hunted(journal, "right", 21.0).review is None, "an earlier hunt is no full pass either"
    assert rated_reviews(journal.facts()) == []


def test_attempt_has_the_checks_and_the_help(journal: Journal) -> None:
    """The time at work can be given, and the help is that since the start."""
    journal.add(Hinted("gqa", 1.0, level=2))
    journal.add(Revealed("gqa", 2.0))
    report = report_on("gqa", "gqa.py", "wrong", 7)
    write_attempt(journal, GQA, report, "wrong", 5.0, 60.0, "review")
    (attempt,) = journal.facts(Attempted)
    assert (attempt.challenge, attempt.at, attempt.seed) == ("gqa", 5.0, 7)
    assert attempt.verdict == report.verdict == "failed"
    assert attempt.checks == report.statuses()
    assert (attempt.seconds, attempt.source) == (60.0, "wrong")
    assert (attempt.hints, attempt.solution, attempt.purpose) == (2, True, "review")


def test_diagnosis_of_an_attempt_has_mistakes_and_line(journal: Journal) -> None:
    """A report without a diagnosis records nothing."""
    wrong, right = (report_on("gqa", "gqa.py", source, 7) for source in ("wrong", "right"))
    first = write_attempt(journal, GQA, wrong, "", 1.0, None, "practice").attempt
    assert first is not None
    record_diagnosis(journal, first, wrong, 2.0)
    record_diagnosis(journal, first, right, 3.0)
    (fact,) = journal.facts(Diagnosed)
    assert (fact.attempt, fact.line) == (first, 3)
    assert wrong.diagnosis is not None
    assert counted_attempts(journal.facts())[0].mistakes == tuple(
        mistake.id for mistake in wrong.diagnosis.mistakes
    )
    assert counted_attempts(journal.facts())[0].mistakes
