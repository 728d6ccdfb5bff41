"""When an item is due again, and what grade the evidence gives. fsrs does the arithmetic; time is passed in.

A card is never stored: it follows from the reviews in the journal, so journals can be put together in any order.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

from trainer.practice.journal import Review, Since

if TYPE_CHECKING:
    from fsrs import Card, Scheduler

RATINGS = ("again", "hard", "good", "easy")
Grade = Literal[1, 2, 3, 4]
_MANY_FAILED = 8
_PREFIX = "challenge:"


@dataclass(frozen=True)
class ScheduledItem:
    """One thing that is reviewed.

    due_at      seconds since the epoch
    strength    how likely it would be recalled now, 0 to 1
    """

    name: str
    due_at: float
    strength: float
    reviews: int
    last: Review

    def is_due(self, now: float) -> bool:
        """Whether it is due today, by this machine's calendar: nobody waits for the hour of the last review."""
        return datetime.fromtimestamp(self.due_at).date() <= datetime.fromtimestamp(now).date()


def item_of(challenge: str) -> str:
    """The item under which a challenge is reviewed."""
    return _PREFIX + challenge


def challenge_of(item: str) -> str | None:
    """The challenge that an item is, or None for a question."""
    return item.removeprefix(_PREFIX) if item.startswith(_PREFIX) else None


def grade(since: Since, seconds: float, par_seconds: float) -> tuple[Grade, str]:
    """What a pass was worth, and why, in words.

    Args:
        since: what happened since the stub was handed out, before this pass.
        seconds: at work until the pass.
        par_seconds: the challenge's par time.
    """
    share = seconds / par_seconds if par_seconds > 0 else 0.0
    time = f"{seconds / 60:.0f} of {par_seconds / 60:.0f} min"
    if since.solution:
        return 1, "the solution was seen"
    if since.hint >= 3:
        return 2, f"all hints were taken, {time}"
    if since.hint == 2 or share > 1.5 or since.failed >= _MANY_FAILED:
        return (
            2,
            f"{time}, {_hints(since.hint)}, {since.failed} failed {'attempt' if since.failed == 1 else 'attempts'}",
        )
    if since.hint == 0 and share <= 0.6 and since.failed <= 1:
        return (
            4,
            f"{time}, no hint, {since.failed} failed {'attempt' if since.failed == 1 else 'attempts'}",
        )
    return 3, f"{time}, {_hints(since.hint)}"


def _hints(level: int) -> str:
    return "no hint" if level == 0 else f"{level} {'hint' if level == 1 else 'hints'}"


def items(reviews: Iterable[Review], now: float) -> dict[str, ScheduledItem]:
    """Every item that was reviewed, by name, the longest due first."""
    by_name: dict[str, list[Review]] = {}
    for review in reviews:
        by_name.setdefault(review.item, []).append(review)
    if not by_name:
        return {}
    scheduler = _scheduler()
    found = [_item(scheduler, name, some, now) for name, some in by_name.items()]
    return {one.name: one for one in sorted(found, key=lambda one: (one.due_at, one.name))}


def _scheduler() -> Scheduler:
    """Whole days only: nobody writes a module again after ten minutes. No chance: the same reviews give the same day."""
    from fsrs import Scheduler

    return Scheduler(learning_steps=(), relearning_steps=(), enable_fuzzing=False)


def _item(scheduler: Scheduler, name: str, reviews: list[Review], now: float) -> ScheduledItem:
    from fsrs import Card, Rating

    in_order = sorted(
        reviews, key=lambda one: (one.at, one.id)
    )  # in whatever order they came together
    card: Card = Card(card_id=0, due=_time(in_order[0].at))
    for review in in_order:
        card, _ = scheduler.review_card(card, Rating(review.rating), _time(review.at))
    strength = scheduler.get_card_retrievability(card, _time(max(now, in_order[-1].at)))
    return ScheduledItem(name, card.due.timestamp(), float(strength), len(in_order), in_order[-1])


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, tz=UTC)
