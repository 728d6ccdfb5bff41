"""From what a step of a trail was made: past changes of layout, past factors, and of which inputs."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping

import torch

from trainer.grading.diagnosis.layout import LAYOUTS, same
from trainer.grading.diagnosis.trail import Step, Trail

# Operations that different ways to write the same thing use in each other's place.
KINDS = {
    "product": frozenset("mm bmm addmm baddbmm".split()),
    "softmax": frozenset("_softmax amax max maximum exp logsumexp".split()),
}


def kind_of(operation: str) -> str:
    """Operations that different ways to write the same thing may use in each other's place."""
    return next((kind for kind, operations in KINDS.items() if operation in operations), operation)


def laid_out_of(trail: Trail, number: int) -> int:
    """What was laid out anew."""
    return trail.laid_out[number]


def given_to(trail: Trail, steps: Iterable[int]) -> set[str]:
    """Which inputs have gone into these steps."""
    return {
        name
        for one in steps
        for name in trail.given[one]
        if not name.startswith("input parameter ")
    }


def operands_of(trail: Trail, number: int, given: Collection[str]) -> set[int]:
    """What goes into a step as it is, laid out anew or side by side with others that are made of these inputs."""
    found: set[int] = set()
    waiting = [*trail.steps[number].parents]
    while waiting:
        one = waiting.pop()
        if one not in found:
            found.add(one)
            step = trail.steps[one]
            if step.operation in LAYOUTS or (
                step.operation in ("cat", "stack") and given_to(trail, step.parents) <= set(given)
            ):
                waiting += step.parents
    return found


def computed_of(trail: Trail, number: int) -> int:
    """Where a result was computed, before it was laid out anew or multiplied by a number."""
    while True:
        step = trail.steps[number]
        whole = [one for one in step.parents if trail.steps[one].entries > 1]
        if len(whole) != 1 or not (
            step.operation in LAYOUTS or factor_of(trail, number) is not None
        ):
            return number
        number = whole[0]


def factor_of(trail: Trail, number: int) -> float | None:
    """By which number a step multiplies or divides the one tensor that it is made from; None where it does something else."""
    if number not in trail.factors:
        trail.factors[number] = _factor(trail, number)
    return trail.factors[number]


def _factor(trail: Trail, number: int) -> float | None:
    step = trail.steps[number]
    parents = [one for one in step.parents if trail.steps[one].entries > 1]
    if step.operation not in ("mul", "div") or len(parents) != 1 or step.value is None:
        return None
    before = trail.steps[parents[0]].value
    if before is None or before.shape != step.value.shape or not before.is_floating_point():
        return None
    size = float(before.double().pow(2).sum())
    factor = (
        float((step.value.double() * before.double()).sum()) / size
        if size and math.isfinite(size)
        else 0.0
    )
    return (
        factor
        if factor
        and bool(
            torch.isclose(
                step.value.double(), factor * before.double(), rtol=1e-2, atol=1e-6 * size**0.5
            ).all()
        )
        else None
    )


def alike(one: Step, other: Step, sizes: Mapping[str, int]) -> bool:
    """Whether two steps made the same, in some honest layout."""
    if one.core is None or other.core is None or one.features is None or other.features is None:
        return False
    room = 1e-3 * max(one.features[1], other.features[1])
    if any(
        abs(mine - its) > room
        for mine, its in zip(one.features[:4], other.features[:4], strict=True)
    ):
        return False
    return same(one.core, other.core, sizes)
