"""List the challenges that are due, under way, new or passed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from attn_drill.model.challenge import Challenge
from attn_drill.practice.facts import Reviewed
from attn_drill.practice.progress import ChallengeProgress
from attn_drill.practice.schedule import ScheduledItem, days_until, item_of, items

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
