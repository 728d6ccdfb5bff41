"""The line where no value is wrong, and something else is."""

from __future__ import annotations

from trainer.grading.diagnosis.trail import Trail

_RANDOM = frozenset("bernoulli bernoulli_ native_dropout dropout rand rand_like uniform_".split())


def telling_line(trail: Trail, check: str, limit: int | None = None) -> int | None:
    """The line where no value is wrong: it writes into an input, cuts gradients off, draws at random, or makes a tensor as large as the limit."""
    carrying = _carrying_values(trail) if check == "gradients" else frozenset()
    given = max(
        (number for number, step in enumerate(trail.steps) if step.operation.startswith("input ")),
        default=-1,
    )
    for number, step in enumerate(trail.steps):
        if number <= given or not step.lines:
            continue
        if (
            (
                check == "properties"
                and step.into >= 0
                and not trail.steps[step.into].operation.startswith("input parameter ")
            )
            or (
                check == "gradients"
                and step.cut
                and not _is_a_maximum(trail, number)
                and number in carrying
            )
            or (check == "train/eval" and step.operation in _RANDOM)
            or (
                check == "memory"
                and limit is not None
                and step.entries >= limit
                and step.operation not in ("expand", "expand_as")
            )
        ):
            return step.lines[0]
    return None


def _is_a_maximum(trail: Trail, number: int) -> bool:
    """Whether a largest entry is cut off: what is subtracted from all scores of a row needs no gradient."""
    return any(
        trail.steps[one].operation in ("amax", "max", "maximum")
        for one in trail.steps[number].parents
    )


def _carrying_values(trail: Trail) -> frozenset[int]:
    """The steps into which floats that were given have gone; what is only made as large as another tensor has none of them."""
    found: set[int] = set()
    for number, step in enumerate(trail.steps):
        is_new = step.operation.endswith("_like") or step.operation.startswith("new_")
        if is_new or (step.value is not None and not step.value.is_floating_point()):
            continue
        if step.operation.startswith("input ") or not found.isdisjoint(step.parents):
            found.add(number)
    return frozenset(found)
