"""Plan a review that fits the time: full rewrites, light forms and follow-up questions."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from attn_drill.model.challenge import Challenge
from attn_drill.practice.schedule import ScheduledItem, challenge_of, follow_up_challenge, item_of

Form = Literal["rewrite", "gaps", "line", "follow-up"]
_GAPS, _LINE, _FOLLOW_UP = 4, 2, 1  # minutes


@dataclass(frozen=True)
class ReviewPart:
    """A part of a review: an item, for example `challenge:gqa`, in one form."""

    item: str
    form: Form
    minutes: int


@dataclass(frozen=True)
class ReviewPlan:
    """The parts of a review, and the due items for which there is no time, in order of due date."""

    light: tuple[ReviewPart, ...]
    rewrites: tuple[ReviewPart, ...]
    left_out: tuple[str, ...]

    @property
    def minutes(self) -> int:
        """The minutes that the whole review takes."""
        return sum(part.minutes for part in (*self.light, *self.rewrites))


def challenge_forms(challenge: Challenge) -> tuple[ReviewPart, ...]:
    """Return the forms in which a challenge can be reviewed, the longest light form first."""
    item = item_of(challenge.id)
    return (
        ReviewPart(item, "rewrite", challenge.minutes),
        ReviewPart(item, "gaps", _GAPS),
        ReviewPart(item, "line", _LINE),
    )


def due_forms(
    scheduled: Mapping[str, ScheduledItem],
    challenges: Iterable[Challenge],
    follow_ups: Collection[str],
    now: float,
) -> list[tuple[ReviewPart, ...]]:
    """Return the forms of each due item, the longest due first.

    Leave out questions and lines, which belong to the quiz, and items that no pack has, where
    `follow_ups` are the follow-up questions of the packs.
    """
    by_id = {challenge.id: challenge for challenge in challenges}
    forms: list[tuple[ReviewPart, ...]] = []
    for item in sorted(scheduled.values(), key=lambda item: (item.due_at, item.name)):
        challenge = by_id.get(challenge_of(item.name) or "")
        if not item.is_due(now):
            continue
        if challenge is not None:
            forms.append(challenge_forms(challenge))
        elif item.name in follow_ups:
            forms.append((ReviewPart(item.name, "follow-up", _FOLLOW_UP),))
    return forms


def due_follow_ups(scheduled: Iterable[ScheduledItem], now: float) -> dict[str, int]:
    """Return the number of due follow-up questions of each challenge."""
    counts: dict[str, int] = {}
    for item in scheduled:
        challenge = follow_up_challenge(item.name)
        if challenge is not None and item.is_due(now):
            counts[challenge] = counts.get(challenge, 0) + 1
    return counts


def review_plan(due: Iterable[tuple[ReviewPart, ...]], minutes: int) -> ReviewPlan:
    """Choose a form for each due item, given by its forms, so that the review fits the minutes.

    The challenge that has been due longest, and fits, is written in full. Then each item gets its
    longest light form that fits, the longest due first. If time remains, more challenges are
    written in full.
    """
    forms = [*due]
    rewrites = [parts[0] for parts in forms if parts[0].form == "rewrite"]
    plan: dict[str, ReviewPart] = {}

    def put(part: ReviewPart) -> bool:
        """Put a part into the plan, in place of another form, if the time is enough for it."""
        others = sum(other.minutes for other in plan.values() if other.item != part.item)
        if others + part.minutes > minutes:
            return False
        plan[part.item] = part
        return True

    for part in rewrites:
        if put(part):
            break
    for first, *others in forms:
        light = others if first.form == "rewrite" else [first]
        for part in light:
            if first.item in plan or put(part):
                break
    for part in rewrites:
        put(part)
    in_order = [plan[parts[0].item] for parts in forms if parts[0].item in plan]
    return ReviewPlan(
        tuple(part for part in in_order if part.form != "rewrite"),
        tuple(part for part in in_order if part.form == "rewrite"),
        tuple(parts[0].item for parts in forms if parts[0].item not in plan),
    )
