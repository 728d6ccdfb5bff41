"""A small pack, attempts and reviews for tests of the statistics."""

from datetime import datetime, timezone, tzinfo
from pathlib import Path

from attn_drill.model.challenge import Challenge, Mistake
from attn_drill.practice.facts import Attempted, Reviewed, Started
from attn_drill.practice.statistics import (
    Stats,
    statistics,
)

UTC = timezone.utc  # noqa: UP017  # like the other zones

NOW = datetime(2026, 3, 5, 12, tzinfo=UTC).timestamp()  # a Thursday

DAY = 86_400.0


def challenge(name: str, *builds_on: str, topic: str = "basics", minutes: int = 10) -> Challenge:
    """Return a challenge."""
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


def attempt_at(
    name: str,
    days: float,
    verdict: str = "failed",
    *mistakes: str,
    seconds: float | None = None,
    purpose: str = "practice",
) -> Attempted:
    """Return an attempt that was made `days` days before now."""
    return Attempted(
        name,
        NOW - days * DAY,
        seed=1,
        verdict=verdict,  # type: ignore[arg-type]
        source="",
        seconds=seconds,
        mistakes=mistakes,
        purpose=purpose,  # type: ignore[arg-type]
    )


def review(item: str, days: float, rating: int = 3) -> Reviewed:
    """Return a review that was made `days` days before now."""
    return Reviewed(item, NOW - days * DAY, f"{item} {days}", rating=rating)


def statistics_of(
    *attempts: Attempted,
    reviews: tuple[Reviewed, ...] = (),
    starts: dict[str, list[float]] | None = None,
    zone: tzinfo | None = UTC,
) -> Stats:
    """Return the statistics for the small pack. `starts` are in days before now."""
    started = [
        Started(name, NOW - days * DAY, path="")
        for name, days_ago in (starts or {}).items()
        for days in days_ago
    ]
    facts = sorted([*started, *attempts, *reviews], key=lambda fact: fact.at)
    return statistics(facts, PACK, MISTAKES, NOW, zone=zone)
