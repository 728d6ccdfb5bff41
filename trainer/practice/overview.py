"""Compute the facts of a learner's progress that the menu shows. The functions are pure."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import tzinfo

from trainer.practice.facts import Attempted
from trainer.practice.statistics import first_passes, streak


@dataclass(frozen=True)
class Overview:
    """The progress of a learner in short.

    Attributes:
        passed: The ids of the challenges that were passed, in the order of the packs.
        challenges: The number of challenges in the packs.
        streak: The number of days in a row with an attempt, as in `Stats`.
        best_seconds: The least working time of a pass, in seconds, by challenge id. A pass after
            the reference was shown does not count.
    """

    passed: tuple[str, ...] = ()
    challenges: int = 0
    streak: int = 0
    best_seconds: Mapping[str, float] = field(default_factory=dict)


def overview(
    attempts: Sequence[Attempted],
    challenges: Collection[str],
    now: float,
    *,
    starts: Mapping[str, Sequence[float]] | None = None,
    zone: tzinfo | None = None,
) -> Overview:
    """Return the progress of a learner in short.

    Args:
        attempts: All attempts. An attempt in a hunt counts for the streak only.
        challenges: The ids of the challenges of the packs.
        now: The current time in seconds since the epoch.
        starts: The times at which each challenge was handed out, as in `statistics`.
        zone: The time zone in which days are counted, as in `statistics`.
    """
    in_order = sorted(attempts, key=lambda attempt: attempt.at)
    solved = [attempt for attempt in in_order if attempt.purpose != "hunt"]
    passed = {attempt.challenge for attempt in solved if attempt.verdict == "passed"}
    best: dict[str, float] = {}
    for attempt in first_passes(solved, starts or {}):
        if attempt.seconds is not None and not attempt.solution:
            seconds = best.get(attempt.challenge, attempt.seconds)
            best[attempt.challenge] = min(seconds, attempt.seconds)
    return Overview(
        tuple(challenge for challenge in challenges if challenge in passed),
        len(challenges),
        streak(in_order, now, zone),
        best,
    )
