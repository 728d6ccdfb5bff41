"""The names of the checks in order, statuses and verdicts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

Status = Literal["passed", "failed", "skipped"]
Verdict = Literal["passed", "failed", "error", "timeout", "memory", "not-allowed"]

_BAD: tuple[Status, ...] = ("passed", "skipped", "failed")  # the worst last
# Checks run and appear in reports in this order. The number is the weight of a check for the points
# of a class. Right values are the point of a challenge. Checks that only show that a file can be
# graded bring no points, and the absence of forbidden code brings none either. So a student who
# hands in the stub has none.
WEIGHTS = {
    "loads": 0.0,
    "interface": 0.0,
    "parameters": 0.0,
    "runs": 0.0,
    "shapes": 0.2,
    "dtype": 0.2,
    "values": 4.0,
    "masks": 3.0,
    "gradients": 2.0,
    "train/eval": 1.0,
    "properties": 1.0,
    "defaults": 0.0,
    "bad sizes": 1.0,
    "from scratch": 0.0,
    "vectorised": 1.0,
    "memory": 1.0,
    "work": 1.0,
}
CHECK_ORDER = tuple(WEIGHTS)


def status_of_each(outcomes: Iterable[tuple[str, Status]]) -> dict[str, Status]:
    """Return the worst status of every check over its outcomes, in the order of `CHECK_ORDER`.

    >>> status_of_each([("masks", "passed"), ("values", "passed"), ("masks", "skipped")])
    {'values': 'passed', 'masks': 'skipped'}
    """
    worst: dict[str, Status] = {}
    for check, status in outcomes:
        worst[check] = max(status, worst.get(check, status), key=_BAD.index)
    return {check: worst[check] for check in CHECK_ORDER if check in worst}
