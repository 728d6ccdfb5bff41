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

from trainer.core.words import Case
from trainer.running.protocol import DTYPES

_MOST_ATTEMPTS = 4


@dataclass(frozen=True)
class Held:
    """What the kernel told of a case; `number` counts from 0. `trouble`: a sentence, or "" where it is little enough."""

    case: Case
    number: int
    trouble: str


def most_bytes(case: Case) -> int:
    """Return how many bytes may be alive at once: half of all entries in the case's dtype."""
    return (case.limit or 0) * DTYPES[case.dtype].itemsize // 2


def measured_pair(cases: Sequence[Case]) -> tuple[int, int] | None:
    """Return the numbers of the two cases that are measured, the small case first; None where there are none."""
    probes = [number for number, case in enumerate(cases) if case.probe == "held"]
    return (probes[0], probes[1]) if len(probes) == 2 else None


def held_memory(
    cases: Sequence[Case], most_held: Callable[[int], int], own_bytes: Callable[[bool], int]
) -> Held | None:
    """Compare what the kernel tells of the two cases.

    The kernel counts pages of libraries too, and their number changes with the load of the machine.
    So a submission that seems to hold too much is measured again, and the reference with it. Memory
    that an answer really holds is there each time.

    Args:
        cases: all cases of an exam.
        most_held: runs one case in a worker of its own and returns the bytes that it held at most, 0 where nothing tells.
        own_bytes: returns what the larger case takes more without what an answer holds; it is measured anew where the
            argument says so.

    Returns:
        None where there is nothing to measure, or nothing to measure it with.
    """
    pair = measured_pair(cases)
    if pair is None:
        return None
    small, large = (cases[number] for number in pair)
    most, least_grown = most_bytes(large), math.inf
    for attempt in range(_MOST_ATTEMPTS):
        few, many = map(most_held, pair)
        if not few or not many:
            return None
        least_grown = min(least_grown, many - few - own_bytes(attempt > 0))
        if least_grown < most:
            break
    trouble = ""
    if least_grown >= most:
        trouble = (
            f"the process holds {least_grown / (1 << 20):.1f} MiB more at once than in the case {small.name!r}, which the kernel counts "
            f"with all memory that is no tensor; it must be fewer than {most / (1 << 20):.1f}, half of {large.limit:,} entries of {large.dtype}"
        )
    return Held(large, pair[1], trouble)
