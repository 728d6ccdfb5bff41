"""Record a verdict in the journal, and grade the first pass of a challenge or a bug hunt."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from attn_drill.model.challenge import Challenge
from attn_drill.model.words import plural
from attn_drill.practice.facts import (
    Attempted,
    Diagnosed,
    Fact,
    Hunted,
    Purpose,
    Reviewed,
    StageBegan,
)
from attn_drill.practice.journal import Journal
from attn_drill.practice.progress import counted_attempts, progress_of, since_start
from attn_drill.practice.schedule import RATINGS, Grade, grade, item_of

if TYPE_CHECKING:
    from attn_drill.model.report import Report

_GOOD_HUNT_ATTEMPTS = 2  # the most attempts of a hunt that is graded good


@dataclass(frozen=True)
class RecordedAttempt:
    """The ids of the journal entries for one report.

    `attempt` is None for an unfinished file, which the journal does not keep. `review` is None
    unless this was the first pass since the stub or the hunt was handed out.
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
    """Record a verdict, unless the file is unfinished. Grade the first pass since the last start.

    A hunt is a light review: its first pass is graded too, but only if the challenge itself was
    passed before. `record_diagnosis` may add the mistakes and the line later. If `seconds` is None,
    the journal's own count is the time at work until now.
    """
    if report.unfinished:
        return RecordedAttempt(None)
    facts = journal.facts(subject=challenge.id)
    since = since_start(facts, in_interview=purpose == "interview")
    if seconds is None and since.started_at is not None:
        seconds = since.seconds_at(now)
    graded: tuple[Grade, str] | None = None
    if report.verdict == "passed":
        if purpose == "hunt":
            graded = _grade_of_hunt(facts)
        elif not since.passed and seconds is None:
            graded = 3, "no stub was handed out"
        elif not since.passed and seconds is not None:
            graded = grade(since, seconds, challenge.minutes * 60.0)
    attempt = journal.add(
        Attempted(
            challenge.id,
            now,
            seed=report.seed or 0,
            verdict=report.verdict,
            source=source,
            checks=report.statuses(),
            seconds=seconds,
            hints=since.hint,
            solution=since.solution,
            purpose=purpose,
        )
    )
    if graded is None:
        return RecordedAttempt(attempt)
    rating, reason = graded
    review = journal.add(Reviewed(item_of(challenge.id), now, rating=rating, reason=reason))
    return RecordedAttempt(attempt, review, f"graded {RATINGS[rating - 1]}: {reason}")


def _grade_of_hunt(facts: Sequence[Fact]) -> tuple[Grade, str] | None:
    """Return the grade of the first pass of a hunt of a challenge and the reason, or None."""
    begun = max((fact.at for fact in facts if isinstance(fact, Hunted | StageBegan)), default=0.0)
    verdicts = [
        attempt.verdict
        for attempt in counted_attempts(facts)
        if attempt.purpose == "hunt" and attempt.at >= begun
    ]
    was_solved = any(progress.state == "passed" for progress in progress_of(facts).values())
    # The review of a challenge that was never passed begins with a pass from the stub.
    if "passed" in verdicts or not was_solved:
        return None
    attempts = len(verdicts) + 1
    reason = f"bug hunt, {plural(attempts, 'attempt')}"
    return (3 if attempts <= _GOOD_HUNT_ATTEMPTS else 2), reason


def record_diagnosis(journal: Journal, attempt: str | None, report: Report, now: float) -> None:
    """Record the mistakes and the line that the report of an attempt names, if there are any."""
    diagnosis = report.diagnosis
    if diagnosis is not None and attempt is not None:
        journal.add(
            Diagnosed(
                report.challenge,
                now,
                attempt=attempt,
                mistakes=tuple(mistake.id for mistake in diagnosis.mistakes),
                line=diagnosis.first_line.line if diagnosis.first_line else None,
            )
        )
