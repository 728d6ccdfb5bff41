"""How much memory a submission holds at once, as the kernel counts it: the second witness of the memory check.

The counters of a worker see torch's tensors. The kernel sees all memory: numpy, lists, C. Two workers run one case each,
with few and with many positions, and nothing is counted inside. What the larger case takes more belongs to the case:
its inputs, what our own code makes of them, and what the answer holds. The reference, run in the same way, tells the
first two, because what it holds itself is known from torch's allocator.
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
    """The kernel's answer. `index`: of the case; `trouble`: a sentence, or "" if it is little."""

    index: int
    trouble: str


def most_bytes(case: Case) -> int:
    """Return how many bytes may be alive at once: half of all entries in the case's dtype."""
    return (case.limit or 0) * DTYPES[case.dtype].itemsize // 2


def measured_pair(case_set: CaseSet) -> tuple[int, int] | None:
    """Return the indices of the two measured cases, the smaller first; None if there are none."""
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
    """Compare what the kernel tells of the two measured cases.

    The kernel counts pages of libraries too, and their number changes with the load of the machine.
    So a submission that seems to hold too much is measured again, and the reference with it. Memory
    that an answer really holds is there each time.

    Args:
        cases: all cases.
        pair: the indices of the two measured cases, the smaller first.
        most_held: runs the case of this index in a worker of its own and returns the most bytes that
            it held, 0 if nothing tells.
        own_bytes: returns how many bytes more the larger case takes, without what an answer holds.
            It measures anew if the argument says so.

    Returns:
        None if the kernel does not tell.
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
        f"{small.name!r}, which the kernel counts with all memory that is no tensor; "
        f"it must be fewer than {most / (1 << 20):.1f}, "
        f"half of {large.limit:,} entries of {large.dtype}"
    )
    return HeldMemory(pair[1], trouble)
