"""The names of the checks in order, statuses and verdicts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

Status = Literal["passed", "failed", "skipped"]
Verdict = Literal["passed", "failed", "error", "timeout", "memory", "not-allowed"]

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
    """Return the status of every check over all its outcomes, in the order of `CHECK_ORDER`.

    A check is failed if one of its outcomes is failed, else skipped if one is skipped, else
    passed.
    """
    found: dict[str, set[Status]] = {}
    for check, status in outcomes:
        found.setdefault(check, set()).add(status)
    worst_first: tuple[Status, ...] = ("failed", "skipped", "passed")
    return {
        check: next(status for status in worst_first if status in found[check])
        for check in CHECK_ORDER
        if check in found
    }
