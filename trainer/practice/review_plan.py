"""Plan a review that fits the time: full rewrites, light forms and follow-up questions.

The functions are pure: the caller passes the scheduled items and the minutes.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from trainer.model.challenge import Challenge
from trainer.practice.schedule import ScheduledItem, challenge_of, follow_up_challenge, item_of

Form = Literal["rewrite", "gaps", "line", "follow-up"]
LEAST_MINUTES, MOST_MINUTES = 5, 240
_GAPS, _LINE, _FOLLOW_UP = 4, 2, 1  # minutes


@dataclass(frozen=True)
class ReviewPart:
    """A part of a review: an item in one form.

    Attributes:
        item: The name of the item, for example `challenge:gqa` or `follow-up:gqa:1`.
        form: The form in which the item is reviewed.
        minutes: The minutes that the part takes.
    """

    item: str
    form: Form
    minutes: int


@dataclass(frozen=True)
class ReviewPlan:
    """The parts of a review.

    Attributes:
        light: The light parts, the longest due first. They come before the full rewrites.
        rewrites: The full rewrites, the longest due first.
        left_out: The names of due items for which there is no time, the longest due first.
    """

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

    Leave out questions and lines, which belong to the quiz, and items that no pack has.

    Args:
        scheduled: The reviewed items by name.
        challenges: The challenges of the packs.
        follow_ups: The items of the follow-up questions of the packs.
        now: The current time in seconds since the epoch.
    """
    known = {challenge.id: challenge for challenge in challenges}
    forms: list[tuple[ReviewPart, ...]] = []
    for item in sorted(scheduled.values(), key=lambda item: (item.due_at, item.name)):
        challenge = known.get(challenge_of(item.name) or "")
        if not item.is_due(now):
            continue
        if challenge is not None:
            forms.append(challenge_forms(challenge))
        elif item.name in follow_ups:
            forms.append((ReviewPart(item.name, "follow-up", _FOLLOW_UP),))
    return forms


def due_follow_ups(scheduled: Iterable[ScheduledItem], now: float) -> dict[str, int]:
    """Return the number of due follow-up questions of each challenge, by challenge id."""
    counts: dict[str, int] = {}
    for item in scheduled:
        challenge = follow_up_challenge(item.name)
        if challenge is not None and item.is_due(now):
            counts[challenge] = counts.get(challenge, 0) + 1
    return counts


def review_plan(due: Iterable[tuple[ReviewPart, ...]], minutes: int) -> ReviewPlan:
    """Choose a form for each due item so that the review fits the minutes.

    The challenge that has been due longest, and fits, is written in full. Then each item gets its
    longest light form that fits, the longest due first. If time remains, more challenges are
    written in full.

    Args:
        due: The forms of each due item, the longest due first.
        minutes: The minutes that the learner has.
    """
    forms = {parts[0].item: parts for parts in due}
    chosen: dict[str, ReviewPart] = {}
    _choose_rewrites(forms, chosen, minutes, most=1)
    for item, parts in forms.items():
        light = [part for part in parts if part.form != "rewrite"]
        left = minutes - _sum(chosen)
        fitting = next((part for part in light if part.minutes <= left), None)
        if item not in chosen and fitting is not None:
            chosen[item] = fitting
    _choose_rewrites(forms, chosen, minutes, most=len(forms))
    in_order = [chosen[item] for item in forms if item in chosen]
    return ReviewPlan(
        tuple(part for part in in_order if part.form != "rewrite"),
        tuple(part for part in in_order if part.form == "rewrite"),
        tuple(item for item in forms if item not in chosen),
    )


def _choose_rewrites(
    forms: Mapping[str, tuple[ReviewPart, ...]],
    chosen: dict[str, ReviewPart],
    minutes: int,
    most: int,
) -> None:
    """Add full rewrites to `chosen`, at most `most`, as long as the review fits."""
    for item, parts in forms.items():
        if most > 0 and parts[0].form == "rewrite":
            others = {name: part for name, part in chosen.items() if name != item}
            if _sum(others) + parts[0].minutes <= minutes:
                most -= item not in chosen or chosen[item].form != "rewrite"
                chosen[item] = parts[0]


def _sum(chosen: Mapping[str, ReviewPart]) -> int:
    return sum(part.minutes for part in chosen.values())
