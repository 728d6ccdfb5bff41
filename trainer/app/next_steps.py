"""Say in one line what a pass brings: progress, next challenges, the next review, the grade."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from trainer.model.challenge import Challenge
from trainer.practice.agenda import in_days
from trainer.practice.journal import Journal
from trainer.practice.progress import progress_of, rated_reviews
from trainer.practice.schedule import item_of, items


@dataclass(frozen=True)
class NextSteps:
    """The situation after a pass.

    Attributes:
        challenge: the id of the challenge that was passed.
        passed: the number of challenges that are passed.
        total: the number of all challenges.
        next: the ids of challenges that build on this challenge, if they are not passed and if all
            other challenges that they build on are passed.
        due_at: the time of the next review in seconds since the epoch, or None without a review.
    """

    challenge: str
    passed: int
    total: int
    next: tuple[str, ...] = ()
    due_at: float | None = None

    def in_words(self, now: float, graded: str, clock: str) -> str:
        """Return everything in one line.

        Args:
            now: the current time in seconds since the epoch.
            graded: the grade with its reasons, e.g. "graded good: 14 of 20 min, no hint", or "".
            clock: the time at work against the par time, shown if there is no grade.
        """
        parts = [f"{self.passed} of {self.total} passed"]
        if self.next:
            build = "it builds" if len(self.next) == 1 else "they build"
            parts.append(f"next: {', '.join(self.next)} ({build} on {self.challenge})")
        if self.due_at is not None:
            parts.append(f"comes back {in_days(self.due_at, now)}")
        parts.append(graded or clock)
        return " · ".join(part for part in parts if part)


def next_steps(
    challenge: Challenge, challenges: Sequence[Challenge], journal: Journal, now: float
) -> NextSteps:
    """Return the situation after a pass of `challenge`.

    Args:
        challenge: the challenge that was passed.
        challenges: all known challenges.
        journal: the learner's journal, which already has the pass.
        now: the current time in seconds since the epoch.
    """
    progress = progress_of(journal.facts())
    passed = {name for name, state in progress.items() if state.state == "passed"}
    passed.add(challenge.id)  # the journal may be unwritable
    coming = tuple(
        other.id
        for other in challenges
        if challenge.id in other.builds_on
        and other.id not in passed
        and passed.issuperset(other.builds_on)
    )
    name = item_of(challenge.id)
    item = items(rated_reviews(journal.facts(subject=name)), now).get(name)
    known = {other.id for other in challenges} | {challenge.id}
    due_at = None if item is None else item.due_at
    return NextSteps(challenge.id, len(passed & known), len(known), coming, due_at)
