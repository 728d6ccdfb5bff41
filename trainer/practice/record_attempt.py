"""Put a verdict into the journal, with the grade that a first pass is worth."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from trainer.model.attempt import Attempt
from trainer.model.challenge import Challenge
from trainer.practice.journal import Journal
from trainer.practice.schedule import RATINGS, grade, item_of

if TYPE_CHECKING:
    from trainer.model.report import Report

Purpose = Literal["practice", "review", "interview", "hunt"]


@dataclass(frozen=True)
class RecordedAttempt:
    """The attempt's id; the review's, where this was the first pass since the stub was handed out, and its grade in words.

    attempt   None where the file is unfinished: that is no attempt, and the journal has nothing of it
    """

    attempt: str | None
    review: str | None = None
    graded: str = ""


def write_attempt(
    journal: Journal,
    challenge: Challenge,
    report: Report,
    source: str,
    now: float,
    seconds: float | None,
    purpose: Purpose,
) -> RecordedAttempt:
    """Keep a verdict, unless the file is unfinished. Where and why may follow (`record_diagnosis`).

    Args:
        now: seconds since the epoch.
        seconds: at work on the challenge until now; None takes the journal's own count.
    """
    if report.unfinished:
        return RecordedAttempt(None)
    since = journal.since_start(challenge.id)
    if seconds is None and since.started_at is not None:
        seconds = since.seconds_at(now)
    attempt = journal.record_attempt(
        attempt_of(report, source, now, seconds, since.hint, purpose, solution=since.solution)
    )
    if report.verdict != "passed" or since.passed or purpose not in ("practice", "review"):
        return RecordedAttempt(attempt)
    if seconds is None:  # no stub was handed out: nobody knows how long it took
        return RecordedAttempt(
            attempt,
            journal.record_review(item_of(challenge.id), now, 3, "no stub was handed out"),
            "graded good",
        )
    rating, reason = grade(since, seconds, challenge.minutes * 60.0)
    return RecordedAttempt(
        attempt,
        journal.record_review(item_of(challenge.id), now, rating, reason),
        f"graded {RATINGS[rating - 1]}: {reason}",
    )


def attempt_of(
    report: Report,
    source: str,
    when: float,
    seconds: float | None,
    hints: int,
    purpose: Purpose,
    *,
    solution: bool,
) -> Attempt:
    """The journal's entry of a report."""
    statuses = report.statuses()
    return Attempt(
        challenge=report.challenge,
        when=when,
        seed=report.seed or 0,
        verdict=report.verdict,
        checks_passed=sum(status == "passed" for status in statuses.values()),
        checks_total=len(statuses),
        source=source,
        checks=statuses,
        seconds=seconds,
        hints=hints,
        solution=solution,
        purpose=purpose,
    )


def record_diagnosis(journal: Journal, attempt: str | None, report: Report) -> None:
    """Keep which mistakes the report of an attempt names, and the line. Do nothing where there is no attempt."""
    found = report.diagnosis
    if found is not None and attempt is not None:
        journal.record_diagnosis(
            attempt,
            [one.id for one in found.mistakes],
            found.first_line.line if found.first_line else None,
        )
