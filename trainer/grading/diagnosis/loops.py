"""Python loops: which lines run more often when sizes grow, and how much more."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

from trainer.grading.diagnosis.trail import Trail

Growth = list[dict[int, frozenset[Fraction]]]


def growth(trails: Sequence[Trail]) -> Growth:
    """For every pair of a small case and a large one: the lines that run more often in the large, each with small count / large count."""
    return [_grown(small, large) for small, large in zip(trails[::2], trails[1::2], strict=True)]


def kinds(found: Growth) -> list[frozenset[Fraction]]:
    """By how much anything grows in every pair, whatever the lines: it tells which size is looped over."""
    return [frozenset(ratio for ratios in one.values() for ratio in ratios) for one in found]


def _grown(small: Trail, large: Trail) -> dict[int, frozenset[Fraction]]:
    before, after = _counts(small), _counts(large)
    found: dict[int, set[Fraction]] = {}
    for place, count in after.items():
        if 0 < before[place] < count:
            found.setdefault(place[0], set()).add(Fraction(before[place], count))
    return {line: frozenset(ratios) for line, ratios in found.items()}


def _counts(trail: Trail) -> Counter[tuple[int, str]]:
    """How often each operation ran on each line."""
    return Counter((step.lines[0], step.operation) for step in trail.steps if step.lines and step.operation != "number")
