"""Grade a pass, and compute when each item is due again.

fsrs does the arithmetic, and the caller passes the current time. Cards are never stored: they are
computed from the reviews in the journal, so journals can be merged in any order.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from attn_drill.model.challenge import Challenge
from attn_drill.model.words import plural
from attn_drill.practice.facts import Reviewed
from attn_drill.practice.progress import ChallengeProgress, SinceStart

RATINGS = ("again", "hard", "good", "easy")
Grade = Literal[1, 2, 3, 4]
_MANY_FAILED = 8
_PREFIX, _FOLLOW_UP = "challenge:", "follow-up:"


@dataclass(frozen=True)
class ScheduledItem:
    """A challenge, question or line that is reviewed."""

    name: str  # for example `challenge:gqa`
    due_at: float  # seconds since the epoch
    strength: float  # the probability of a recall now, 0 to 1
    reviews: int
    last: Reviewed

    def is_due(self, now: float) -> bool:
        """Return whether the item is due today or earlier."""
        # Only the date counts, so the learner need not wait for the hour of the last review.
        return days_until(self.due_at, now) <= 0


def days_until(at: float, now: float) -> int:
    """Return the days from today's date to that of a time, in this machine's time zone."""
    return (datetime.fromtimestamp(at).date() - datetime.fromtimestamp(now).date()).days


def item_of(challenge: str) -> str:
    """Return the name of the item under which a challenge is reviewed."""
    return _PREFIX + challenge


def challenge_of(item: str) -> str | None:
    """Return the id of a challenge from the name of its item, or None for other items.

    >>> challenge_of("challenge:gqa"), challenge_of("question:sqrt")
    ('gqa', None)
    """
    return item.removeprefix(_PREFIX) if item.startswith(_PREFIX) else None


def follow_up_challenge(item: str) -> str | None:
    """Return the challenge of a follow-up question, or None for other items.

    >>> follow_up_challenge("follow-up:kv-cache:2")
    'kv-cache'
    """
    if not item.startswith(_FOLLOW_UP):
        return None
    return item.removeprefix(_FOLLOW_UP).rpartition(":")[0]


def grade(since: SinceStart, seconds: float, par_seconds: float) -> tuple[Grade, str]:
    """Return the grade of a pass, and everything that decided it in words."""
    share = seconds / par_seconds if par_seconds > 0 else 0.0
    hints = ("no hint", "1 hint", "2 hints", "all hints")[min(since.hint, 3)]
    reasons = (
        f"{seconds / 60:.0f} of {par_seconds / 60:.0f} min, {hints}, "
        f"{plural(since.failed, 'failed attempt')}"
    )
    if since.solution:
        return 1, f"the solution was seen, {reasons}"
    if since.hint >= 2 or share > 1.5 or since.failed >= _MANY_FAILED:
        return 2, reasons
    if since.hint == 0 and share <= 0.6 and since.failed <= 1:
        return 4, reasons
    return 3, reasons


def items(reviews: Iterable[Reviewed], now: float) -> dict[str, ScheduledItem]:
    """Return every reviewed item by name, the longest due first."""
    by_name: dict[str, list[Reviewed]] = {}
    # Merged journals have their reviews in any order.
    for review in sorted(reviews, key=lambda review: (review.at, review.id)):
        by_name.setdefault(review.item, []).append(review)
    if not by_name:
        return {}
    from fsrs import Card, Rating, Scheduler

    # It counts in whole days, because nobody writes a module again after ten minutes. Without
    # fuzzing, the same reviews always give the same day.
    scheduler = Scheduler(learning_steps=(), relearning_steps=(), enable_fuzzing=False)
    scheduled: list[ScheduledItem] = []
    for name, group in by_name.items():
        card = Card(card_id=0, due=_time(group[0].at))
        for review in group:
            card, _ = scheduler.review_card(card, Rating(review.rating), _time(review.at))
        last, due_at = group[-1], card.due.timestamp()
        strength = scheduler.get_card_retrievability(card, _time(max(now, last.at)))
        scheduled.append(ScheduledItem(name, due_at, float(strength), len(group), last))
    scheduled.sort(key=lambda item: (item.due_at, item.name))
    return {item.name: item for item in scheduled}


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, tz=UTC)


Section = Literal["due", "under way", "new", "passed"]
SECTIONS: tuple[Section, ...] = ("due", "under way", "new", "passed")


@dataclass(frozen=True)
class AgendaEntry:
    """A challenge with its section. `item` is None if it was never reviewed."""

    challenge: Challenge
    section: Section
    item: ScheduledItem | None = None

    def matches(self, words: str) -> bool:
        """Return whether every word occurs in the challenge's id, title, topic or level."""
        challenge = self.challenge
        text = f"{challenge.id} {challenge.title} {challenge.topic} {challenge.level}".lower()
        return all(word in text for word in words.lower().split())


def agenda(
    challenges: Sequence[Challenge],
    progress: Mapping[str, ChallengeProgress],
    reviews: Iterable[Reviewed],
    now: float,
) -> list[AgendaEntry]:
    """Return all challenges, section by section.

    The due challenges begin with the longest due, and the new challenges with those that interviews
    ask for most often. Otherwise the order is that of the pack.
    """
    reviewed = items(reviews, now)
    entries: list[AgendaEntry] = []
    for challenge in challenges:
        item = reviewed.get(item_of(challenge.id))
        state = progress[challenge.id].state if challenge.id in progress else "new"
        section: Section = "under way" if state == "started" else state
        if item is not None and item.is_due(now):
            section = "due"
        entries.append(AgendaEntry(challenge, section, item))
    return sorted(
        entries,
        key=lambda entry: (
            SECTIONS.index(entry.section),
            entry.item.due_at if entry.section == "due" and entry.item else 0.0,
            entry.challenge.rank if entry.section == "new" else 0,
        ),
    )


def in_days(at: float, now: float) -> str:
    """Return the date of a time as `today`, `tomorrow` or `in 5 days`."""
    days = days_until(at, now)
    return "today" if days <= 0 else "tomorrow" if days == 1 else f"in {days} days"
