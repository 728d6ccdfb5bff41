"""Grade a pass, and compute when each item is due again.

fsrs does the arithmetic, and the caller passes the current time. Cards are never stored: they are
computed from the reviews in the journal, so journals can be merged in any order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from attn_drill.model.quantities import plural
from attn_drill.practice.facts import Reviewed
from attn_drill.practice.progress import SinceStart

if TYPE_CHECKING:
    from fsrs import Card, Scheduler

RATINGS = ("again", "hard", "good", "easy")
Grade = Literal[1, 2, 3, 4]
_MANY_FAILED = 8
_PREFIX, _FOLLOW_UP = "challenge:", "follow-up:"


@dataclass(frozen=True)
class ScheduledItem:
    """A challenge, question or line that is reviewed.

    Attributes:
        name: The name of the item, for example `challenge:gqa`.
        due_at: The time at which the item is due, in seconds since the epoch.
        strength: The probability that the learner recalls the item now, 0 to 1.
        reviews: The number of reviews.
        last: The last review.
    """

    name: str
    due_at: float
    strength: float
    reviews: int
    last: Reviewed

    def is_due(self, now: float) -> bool:
        """Return whether the item is due today or earlier.

        Only the date counts, so the learner need not wait for the hour of the last review.
        """
        return days_until(self.due_at, now) <= 0


def days_until(at: float, now: float) -> int:
    """Return the days from today's date to that of a time, in this machine's time zone."""
    return (datetime.fromtimestamp(at).date() - datetime.fromtimestamp(now).date()).days


def item_of(challenge: str) -> str:
    """Return the name of the item under which a challenge is reviewed."""
    return _PREFIX + challenge


def challenge_of(item: str) -> str | None:
    """Return the challenge's id from the name of its item, or None for other items."""
    return item.removeprefix(_PREFIX) if item.startswith(_PREFIX) else None


def follow_up_challenge(item: str) -> str | None:
    """Return the challenge's id from the item of a follow-up question, or None for other items."""
    if not item.startswith(_FOLLOW_UP):
        return None
    return item.removeprefix(_FOLLOW_UP).rpartition(":")[0]


def grade(since: SinceStart, seconds: float, par_seconds: float) -> tuple[Grade, str]:
    """Return the grade of a pass, and everything that decided it in words.

    Args:
        since: The events since the stub was handed out, before this pass.
        seconds: The time at work until the pass, in seconds.
        par_seconds: The challenge's par time in seconds.
    """
    share = seconds / par_seconds if par_seconds > 0 else 0.0
    reasons = (
        f"{seconds / 60:.0f} of {par_seconds / 60:.0f} min, {_hints(since.hint)}, "
        f"{plural(since.failed, 'failed attempt')}"
    )
    if since.solution:
        return 1, f"the solution was seen, {reasons}"
    if since.hint >= 2 or share > 1.5 or since.failed >= _MANY_FAILED:
        return 2, reasons
    if since.hint == 0 and share <= 0.6 and since.failed <= 1:
        return 4, reasons
    return 3, reasons


def _hints(level: int) -> str:
    if level >= 3:
        return "all hints"
    return ("no hint", "1 hint", "2 hints")[level]


def items(reviews: Iterable[Reviewed], now: float) -> dict[str, ScheduledItem]:
    """Return every reviewed item by name, the longest due first.

    Args:
        reviews: The reviews, in any order.
        now: The current time in seconds since the epoch.
    """
    by_name: dict[str, list[Reviewed]] = {}
    for review in reviews:
        by_name.setdefault(review.item, []).append(review)
    if not by_name:
        return {}
    scheduler = _scheduler()
    scheduled = [_item(scheduler, name, group, now) for name, group in by_name.items()]
    scheduled.sort(key=lambda item: (item.due_at, item.name))
    return {item.name: item for item in scheduled}


def _scheduler() -> Scheduler:
    """Return a scheduler that counts in whole days and without chance.

    Nobody writes a module again after ten minutes. Without fuzzing, the same reviews always give
    the same day.
    """
    from fsrs import Scheduler

    return Scheduler(learning_steps=(), relearning_steps=(), enable_fuzzing=False)


def _item(scheduler: Scheduler, name: str, reviews: list[Reviewed], now: float) -> ScheduledItem:
    from fsrs import Card, Rating

    # Merged journals have their reviews in any order.
    in_order = sorted(reviews, key=lambda review: (review.at, review.id))
    card: Card = Card(card_id=0, due=_time(in_order[0].at))
    for review in in_order:
        card, _ = scheduler.review_card(card, Rating(review.rating), _time(review.at))
    strength = scheduler.get_card_retrievability(card, _time(max(now, in_order[-1].at)))
    return ScheduledItem(name, card.due.timestamp(), float(strength), len(in_order), in_order[-1])


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, tz=UTC)
