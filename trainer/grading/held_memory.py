"""Measure how much memory a submission holds at once, by the kernel's count.

This is the second measurement of the memory check. The counters of a worker see torch's tensors
only. The kernel counts all memory: numpy, lists, C. Two workers run one case each, the first with
few positions and the second with many positions, and no counters run inside. The difference between
the two cases has three parts: the inputs, the data that the worker's own code makes of the inputs,
and the memory that the submission holds. The reference, run in the same way, gives the first two
parts: the memory that the reference itself holds is known from torch's allocator.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from trainer.grading.case_set import CaseSet
from trainer.model.case import Case
from trainer.worker.protocol import DTYPES

_MOST_ATTEMPTS = 4


@dataclass(frozen=True)
class HeldMemory:
    """The result of the kernel's memory count.

    Attributes:
        index: the index of the larger case, from 0.
        trouble: a sentence if the submission holds too much, or "".
    """

    index: int
    trouble: str


def most_bytes(case: Case) -> int:
    """Return the first number of live bytes that is too many: half of `limit` entries."""
    return (case.limit or 0) * DTYPES[case.dtype].itemsize // 2


def measured_pair(case_set: CaseSet) -> tuple[int, int] | None:
    """Return the indices of the two cases of a "held" probe, the smaller first, or None."""
    for index, prepared in enumerate(case_set.prepared):
        if prepared.case.probe == "held" and prepared.smaller in case_set.prepared:
            return case_set.prepared.index(prepared.smaller), index
    return None


def held_memory(
    cases: Sequence[Case],
    pair: tuple[int, int],
    most_held: Callable[[int], int],
    own_bytes: Callable[[bool], int],
) -> HeldMemory | None:
    """Compare the kernel's memory counts of the two cases of a "held" probe.

    The kernel also counts pages of libraries, and their number changes with the load of the
    machine. So if a submission seems to hold too much, the submission and the reference are
    measured again. Memory that a submission really holds is present in each measurement.

    Args:
        cases: all cases.
        pair: the indices of the two cases, the smaller first.
        most_held: runs the case of an index in a separate worker and returns the most bytes that
            the worker held, or 0 if the kernel gives no count.
        own_bytes: returns the bytes that the larger case takes more than the smaller case without
            the memory that a submission holds. The argument requests a new measurement.

    Returns:
        The result, or None if the kernel gives no count.
    """
    small, large = (cases[index] for index in pair)
    most, least_grown = most_bytes(large), math.inf
    for attempt in range(_MOST_ATTEMPTS):
        few, many = map(most_held, pair)
        if not few or not many:
            return None
        least_grown = min(least_grown, many - few - own_bytes(attempt > 0))
        if least_grown < most:
            return HeldMemory(pair[1], "")
    trouble = (
        f"the process holds {least_grown / (1 << 20):.1f} MiB more at once than in the case "
        f"{small.name!r}, counted by the kernel, which sees memory outside tensors too; "
        f"it must hold fewer than {most / (1 << 20):.1f} MiB more, "
        f"half of {large.limit:,} entries of {large.dtype}"
    )
    return HeldMemory(pair[1], trouble)
