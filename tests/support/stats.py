"""Helpers of the tests of stats."""

from datetime import datetime, timezone, tzinfo
from pathlib import Path

from trainer.model.attempt import Attempt
from trainer.model.challenge import Challenge, Mistake
from trainer.practice.journal import Review
from trainer.practice.statistics import (
    Stats,
    statistics,
)

UTC = timezone.utc  # noqa: UP017  # as the zones beside it


NOW = datetime(2026, 3, 5, 12, tzinfo=UTC).timestamp()  # a Thursday


DAY = 86_400.0


def challenge(name: str, *builds_on: str, topic: str = "basics", minutes: int = 10) -> Challenge:
    """One of a pack."""
    return Challenge(
        name,
        f"About {name}",
        "easy",
        minutes,
        "function",
        (name,),
        builds_on,
        ("", "", ""),
        Path("/c"),
        Path("/s"),
        topic,
    )


A, B, C, D = (
    challenge("a"),
    challenge("b", "a", topic="caches"),
    challenge("c", "a", "b", topic="caches", minutes=20),
    challenge("d", "c", "elsewhere"),
)


PACK = (A, B, C, D)


MISTAKES = {
    "a": [
        Mistake("no-scale", "", "", "It is not scaled.", ""),
        Mistake("late", "", "", "It comes late.", ""),
    ]
}


def tried(
    name: str,
    days: float,
    verdict: str = "failed",
    *mistakes: str,
    seconds: float | None = None,
    purpose: str = "practice",
) -> Attempt:
    """An attempt, so many days before now."""
    return Attempt(
        name,
        NOW - days * DAY,
        1,
        verdict,
        0,
        1,
        "",
        seconds=seconds,
        mistakes=mistakes,
        purpose=purpose,
    )  # type: ignore[arg-type]


def review(item: str, days: float, rating: int = 3) -> Review:
    """A review, so many days before now."""
    return Review(f"{item} {days}", item, NOW - days * DAY, rating, "")


def counted(
    *attempts: Attempt,
    reviews: tuple[Review, ...] = (),
    starts: dict[str, list[float]] | None = None,
    zone: tzinfo | None = UTC,
) -> Stats:
    """The statistics of this pack; starts in days before now."""
    since = {
        name: sorted(NOW - days * DAY for days in some) for name, some in (starts or {}).items()
    }
    return statistics(attempts, reviews, PACK, MISTAKES, NOW, starts=since, zone=zone)
