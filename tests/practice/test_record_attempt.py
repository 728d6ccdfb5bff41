"""Tests of recording a verdict and grading the first pass."""

from pathlib import Path

import pytest

from tests.support.fake_grader import report_on
from tests.support.journal import Open
from trainer.packs import pack_reader
from trainer.practice.record_attempt import (
    RecordedAttempt,
    attempt_of,
    record_diagnosis,
    write_attempt,
)

GQA = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")


def test_unfinished_file_is_not_recorded(opened: Open) -> None:
    """The journal has no attempt, and no diagnosis can be recorded for it."""
    journal = opened()
    report = report_on("gqa", "gqa.py", "half", 1)
    recorded = write_attempt(journal, GQA, report, "half", 5.0, None, "practice")
    assert recorded == RecordedAttempt(None)
    record_diagnosis(journal, recorded.attempt, report)
    assert journal.rows() == []


def test_first_pass_after_a_start_is_graded(opened: Open) -> None:
    """A fast pass without help is easy. A second pass gives no second review."""
    journal = opened()
    journal.record_start("gqa", Path("/a/gqa.py"), 1000.0)
    report = report_on("gqa", "gqa.py", "right", 7)
    first = write_attempt(journal, GQA, report, "right", 1060.0, None, "practice")
    second = write_attempt(journal, GQA, report, "right", 1070.0, None, "practice")
    (review,) = journal.reviews()
    assert (review.id, review.item, review.rating) == (first.review, "challenge:gqa", 4)
    assert first.graded == f"graded easy: {review.reason}"
    assert (second.review, second.graded) == (None, "")
    assert [attempt.seconds for attempt in journal.attempts()] == [60.0, 70.0]


def test_given_seconds_replace_the_count_of_the_journal(opened: Open) -> None:
    """A pass in three times the par time is hard."""
    journal = opened()
    journal.record_start("gqa", Path("/a/gqa.py"), 1000.0)
    report = report_on("gqa", "gqa.py", "right", 7)
    seconds = 3 * 60.0 * GQA.minutes
    write_attempt(journal, GQA, report, "right", 1060.0, seconds, "review")
    assert journal.attempts()[0].seconds == seconds
    assert journal.reviews()[0].rating == 2


def test_pass_without_a_start_is_good(opened: Open) -> None:
    """The time at work is unknown, so it cannot be graded."""
    journal = opened()
    report = report_on("gqa", "gqa.py", "right", 7)
    recorded = write_attempt(journal, GQA, report, "right", 1060.0, None, "practice")
    assert recorded.graded == "graded good"
    assert journal.reviews()[0].rating == 3
    assert journal.attempts()[0].seconds is None


@pytest.mark.parametrize(
    ("source", "purpose"), [("right", "hunt"), ("right", "interview"), ("wrong", "practice")]
)
def test_other_attempts_are_not_graded(opened: Open, source: str, purpose: str) -> None:
    """Only passes in practice and review are graded."""
    journal = opened()
    journal.record_start("gqa", Path("/a/gqa.py"), 1000.0)
    report = report_on("gqa", "gqa.py", source, 7)
    recorded = write_attempt(journal, GQA, report, source, 1060.0, None, purpose)  # type: ignore[arg-type]
    assert recorded.attempt is not None
    assert recorded.review is None
    assert journal.reviews() == []
    assert [attempt.purpose for attempt in journal.attempts()] == [purpose]


def test_attempt_has_the_checks_and_the_help() -> None:
    """A failed check counts in the total, but not as passed."""
    report = report_on("gqa", "gqa.py", "wrong", 7)
    attempt = attempt_of(report, "wrong", 5.0, 60.0, 2, "review", solution=True)
    assert (attempt.challenge, attempt.when, attempt.seed) == ("gqa", 5.0, 7)
    assert attempt.verdict == report.verdict == "failed"
    assert attempt.checks_total == len(report.statuses())
    assert attempt.checks_passed == list(report.statuses().values()).count("passed")
    assert attempt.checks_passed < attempt.checks_total
    assert (attempt.hints, attempt.solution, attempt.purpose) == (2, True, "review")


def test_diagnosis_of_an_attempt_has_mistakes_and_line(opened: Open) -> None:
    """A report without a diagnosis records nothing."""
    journal = opened()
    wrong, right = (report_on("gqa", "gqa.py", source, 7) for source in ("wrong", "right"))
    first = journal.record_attempt(attempt_of(wrong, "", 1.0, None, 0, "practice", solution=False))
    record_diagnosis(journal, first, wrong)
    record_diagnosis(journal, first, right)
    (row,) = [row for table, row in journal.rows() if table == "diagnoses"]
    assert (row["attempt"], row["line"]) == (first, 3)
    assert wrong.diagnosis is not None
    assert journal.attempts()[0].mistakes == tuple(
        mistake.id for mistake in wrong.diagnosis.mistakes
    )
    assert journal.attempts()[0].mistakes
