"""The names of the checks in order, statuses and verdicts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

Status = Literal["passed", "failed", "skipped"]
Verdict = Literal["passed", "failed", "error", "timeout", "memory", "not-allowed"]

_BAD: tuple[Status, ...] = ("passed", "skipped", "failed")  # the worst last
# Checks run and appear in reports in this order.
CHECK_ORDER = (
    "loads",
    "interface",
    "parameters",
    "runs",
    "shapes",
    "dtype",
    "values",
    "masks",
    "gradients",
    "train/eval",
    "properties",
    "defaults",
    "bad sizes",
    "from scratch",
    "vectorised",
    "memory",
    "work",
)


def status_of_each(outcomes: Iterable[tuple[str, Status]]) -> dict[str, Status]:
    """Return the worst status of every check over its outcomes, in the order of `CHECK_ORDER`.

    >>> status_of_each([("masks", "passed"), ("values", "passed"), ("masks", "skipped")])
    {'values': 'passed', 'masks': 'skipped'}
    """
    worst: dict[str, Status] = {}
    for check, status in outcomes:
        worst[check] = max(status, worst.get(check, status), key=_BAD.index)
    return {check: worst[check] for check in CHECK_ORDER if check in worst}
