"""The checks in their order, and their statuses and verdicts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Literal

Status = Literal["passed", "failed", "skipped"]


Verdict = Literal["passed", "failed", "error", "timeout", "memory", "not-allowed"]

# The checks in the order in which they are made and shown.
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
    "bad sizes",
    "from scratch",
    "vectorised",
    "memory",
    "work",
)


def status_of_each(said: Iterable[tuple[str, Status]]) -> dict[str, Status]:
    """Return the status of every check over all that was said of it, in the order of `CHECK_ORDER`.

    A check is failed if any part of it failed. It is passed only if every part passed; a part that
    was not looked at makes it skipped.

    Args:
        said: pairs of check and status, one for each outcome.
    """
    found: dict[str, set[Status]] = {}
    for check, status in said:
        found.setdefault(check, set()).add(status)
    worst_first: tuple[Status, ...] = ("failed", "skipped", "passed")
    return {
        check: next(status for status in worst_first if status in found[check])
        for check in CHECK_ORDER
        if check in found
    }
