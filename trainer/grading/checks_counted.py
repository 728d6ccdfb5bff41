"""Checks on how it is done: from scratch, vectorised, memory, work. Counted, never timed."""

from __future__ import annotations

from collections.abc import Iterator

from trainer.core.report import Outcome
from trainer.core.words import Status
from trainer.grading.evidence import Evidence, frames_of, name_shape

# The large case of a vectorised pair has at least this many more of every letter than the small one; a loop over any of
# them dispatches at least one operation more each. Fewer more may come from how torch splits products of other shapes.
LOOP_GROWTH = 4


def from_scratch(evidence: Evidence) -> Iterator[Outcome]:
    """The library's attention is not called, under any name."""
    if not evidence.reply.not_allowed:
        yield Outcome("from scratch", "passed")
        return
    told = evidence.reply.not_allowed[0]
    where = f" (line {told.frames[-1].line})" if told.frames else ""
    yield Outcome("from scratch", "failed", f"{told.name} is called{where}: attention is to be written from scratch.", frames=frames_of(told.frames))


def vectorised(evidence: Evidence) -> Iterator[Outcome]:
    """The number of tensor operations does not grow with batch, heads or length."""
    probes = [one for one in evidence.cases if one.case.probe == "vectorised"]
    for small, large in zip(probes[::2], probes[1::2], strict=False):
        if not (evidence.ran(small) and evidence.ran(large)):
            continue
        few, many = small.told.operations, large.told.operations
        sizes = ", ".join(f"{letter} {size}→{large.case.sizes[letter]}" for letter, size in small.case.sizes.items() if size != large.case.sizes[letter])
        if min(few, many) == 0:
            text = "no tensor operation was counted; the work is to be done by torch's operations on tensors"
            yield Outcome("vectorised", "failed", text, large.case.name, large.number + 1)
        elif many - few >= LOOP_GROWTH:
            text = f"{few} tensor operations become {many} when {sizes}: there is a loop over batch, heads or positions. Let one operation do all of them."
            yield Outcome("vectorised", "failed", text, large.case.name, large.number + 1)
        else:
            yield Outcome("vectorised", "passed", f"{few} and {many} operations", large.case.name, large.number + 1)


def memory(evidence: Evidence) -> Iterator[Outcome]:
    """No tensor is larger than the algorithm needs."""
    for one in evidence.cases:
        if one.case.probe == "memory" and one.case.limit is not None and evidence.ran(one):
            largest = one.told.largest
            status: Status = "passed" if 0 < largest < one.case.limit else "failed"
            named = name_shape((one.case.limit,), dict(one.case.sizes)).strip("[]")
            bound = f"{one.case.limit:,}" + (f" ({named.partition('=')[0]})" if "=" in named else "")
            text = f"the largest tensor made has {largest:,} entries; it must have fewer than {bound}"
            yield Outcome("memory", status, text, one.case.name, one.number + 1)


def work(evidence: Evidence) -> Iterator[Outcome]:
    """The matrix products do no more multiply-adds than the formula allows."""
    for one in evidence.cases:
        if one.case.probe == "work" and one.case.limit is not None and evidence.ran(one):
            flops = one.told.flops
            text = f"{flops:,} floating-point operations in matrix products; the formula gives {one.case.limit:,}"
            yield Outcome("work", "passed" if flops <= one.case.limit else "failed", text, one.case.name, one.number + 1)
