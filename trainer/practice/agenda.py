"""What there is to practise: due, under way, new, passed. Pure; the journal's words and the time are passed in."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from trainer.model.challenge import Challenge
from trainer.practice.journal import ChallengeProgress, Review
from trainer.practice.schedule import ScheduledItem, item_of, items

Section = Literal["due", "under way", "new", "passed"]
SECTIONS: tuple[Section, ...] = ("due", "under way", "new", "passed")


@dataclass(frozen=True)
class AgendaEntry:
    """One challenge, where it stands, and when it is due if it was reviewed."""

    challenge: Challenge
    section: Section
    item: ScheduledItem | None = None

    def matches(self, words: str) -> bool:
        """Whether every word stands in its id, title, topic or level."""
        text = f"{self.challenge.id} {self.challenge.title} {self.challenge.topic} {self.challenge.level}".lower()
        return all(word in text for word in words.lower().split())


def agenda(
    challenges: Sequence[Challenge],
    progress: Mapping[str, ChallengeProgress],
    reviews: Iterable[Review],
    now: float,
) -> list[AgendaEntry]:
    """All challenges, section by section; the longest due first, the others in the pack's order."""
    reviewed = items(reviews, now)
    entries: list[AgendaEntry] = []
    for challenge in challenges:
        item = reviewed.get(item_of(challenge.id))
        state = progress[challenge.id].state if challenge.id in progress else "new"
        section: Section = (
            "due"
            if item is not None and item.is_due(now)
            else "under way"
            if state == "started"
            else state
        )
        entries.append(AgendaEntry(challenge, section, item))
    return sorted(
        entries,
        key=lambda one: (
            SECTIONS.index(one.section),
            one.item.due_at if one.section == "due" and one.item else 0.0,
        ),
    )


def in_days(seconds: float) -> str:
    """`today`, `tomorrow`, `in 5 days`."""
    days = max(0, round(seconds / 86_400))
    return "today" if days == 0 else "tomorrow" if days == 1 else f"in {days} days"
