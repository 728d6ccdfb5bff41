"""Checks on how a submission computes its results: from scratch, vectorised, memory, work.

These checks compare counts. They never measure time.
"""

from __future__ import annotations

from collections.abc import Iterator

from attn_drill.grading.comparison import CaseResult, Comparison, frames_of
from attn_drill.grading.pictures import name_shape
from attn_drill.model.report import Outcome
from attn_drill.worker.protocol import DTYPES, RunCost

# In a vectorised pair, every letter that grows is larger by at least this much in the large case.
# A loop over such a letter dispatches at least one more operation per step. A smaller growth can
# come from torch, which splits products of other shapes in other ways.
LOOP_GROWTH = 4
# Matrix products must not exceed the formula. Products of single entries (a softmax by hand, a
# rotation) come on top of the formula.
WORK_SLACK = 1.5
_MOST_MOVED = 8  # values that may leave or enter torch in a decode step: a flag, a length


def from_scratch(comparison: Comparison) -> Iterator[Outcome]:
    """Check that the submission calls neither the library's attention nor a forbidden operation."""
    if not comparison.reply.not_allowed:
        yield Outcome("from scratch", "passed")
        return
    call = comparison.reply.not_allowed[0]
    line = f" (line {call.frames[-1].line})" if call.frames else ""
    advice = "write attention from scratch"
    if call.is_by_challenge:
        advice = "this challenge forbids it, so compute the result without it"
    message = f"{call.name} is called{line}: {advice}."
    yield Outcome("from scratch", "failed", message, frames=frames_of(call.frames))


def vectorised(comparison: Comparison) -> Iterator[Outcome]:
    """Check that the number of operations does not grow with batch, heads or length."""
    for small, large in growth_pairs(comparison):
        if trouble := loop_between(small, large):
            yield large.failed("vectorised", trouble)
        else:
            few, many = _cost(small).operations, _cost(large).operations
            yield large.passed("vectorised", f"{few} and {many} operations")


def growth_pairs(comparison: Comparison) -> Iterator[tuple[CaseResult, CaseResult]]:
    """Yield the smaller and the larger case of each growth probe whose two cases ran."""
    by_case = {result.prepared: result for result in comparison.results}
    for large in comparison.results:
        small = by_case.get(large.prepared.smaller) if large.prepared.smaller else None
        if small is not None and small.ran and large.ran:
            yield small, large


def _cost(result: CaseResult) -> RunCost:
    return result.reply.cost or RunCost()


def loop_between(small: CaseResult, large: CaseResult) -> str:
    """Return a sentence about the count that grows from the small to the large case, or ""."""
    sizes = ", ".join(
        f"{letter} {size}→{large.case.sizes[letter]}"
        for letter, size in small.case.sizes.items()
        if size != large.case.sizes[letter]
    )
    when = f"when {sizes}" if sizes else "in this case"  # other inputs may have grown
    few, many = _cost(small), _cost(large)
    if many.operations - few.operations >= LOOP_GROWTH:
        return (
            f"{few.operations} tensor operations become {many.operations} {when}: "
            "there is a loop over batch, heads or positions. Replace the loop by one operation."
        )
    # Printing or saving values does not compute with them, so values must also come back.
    if min(many.left - few.left, many.entered - few.entered) >= LOOP_GROWTH:
        return (
            f"{few.left} values leave torch (tolist, numpy …), and {many.left} {when}, "
            f"and {many.entered} come back: the work is done outside torch. "
            "Keep the values in tensors."
        )
    if many.lines - few.lines >= LOOP_GROWTH:
        return (
            f"{few.lines} lines of Python run, and {many.lines} {when}: "
            "there is a loop over batch, heads or positions. Replace the loop by one operation."
        )
    return ""


def memory(comparison: Comparison) -> Iterator[Outcome]:
    """Check that no tensor has `limit` entries, and that half of `limit` is never held at once."""
    for result in comparison.results:
        limit, cost = result.case.limit, _cost(result)
        if limit is None or not result.ran or result.case.probe not in ("memory", "held"):
            continue
        if result.case.probe == "memory":
            bound = f"{limit:,}"
            letters, equals, _ = name_shape((limit,), result.case.sizes).strip("[]").partition("=")
            if equals:
                bound += f" ({letters})"
            is_too_much = cost.largest >= limit
            summary = (
                f"the largest tensor made has {cost.largest:,} entries; "
                f"it must have fewer than {bound}"
            )
        else:
            most = limit * DTYPES[result.case.dtype].itemsize // 2
            is_too_much = cost.peak_bytes >= most
            summary = (
                f"{cost.peak_bytes:,} bytes of tensors are alive at once; there must be fewer than "
                f"{most:,}, half of {limit:,} entries of {result.case.dtype}"
            )
        # A part of the inputs may leave torch. But the output must not come from outside.
        entries = sum(want.value.numel() for want in result.expected.outputs.values())
        trouble = _outside(min(cost.left, cost.entered), entries)
        yield _bounded("memory", result, trouble, is_too_much, summary)


def work(comparison: Comparison) -> Iterator[Outcome]:
    """Check that products do not take more floating-point operations than the formula.

    Matrix products may take the formula's count. All products together, those of single entries
    too, may take `WORK_SLACK` times as many.
    """
    for result in comparison.results:
        limit = result.case.limit
        if result.case.probe != "work" or limit is None or not result.ran:
            continue
        cost = _cost(result)
        has_slack = cost.flops <= WORK_SLACK * limit
        counted = cost.matrix_flops if has_slack else cost.flops
        summary = f"{counted:,} floating-point operations in products; the formula gives {limit:,}"
        is_too_much = cost.matrix_flops > limit or not has_slack
        trouble = _outside(max(cost.left, cost.entered), _MOST_MOVED)
        yield _bounded("work", result, trouble, is_too_much, summary)


def _outside(moved: int, most: int) -> str:
    """Return a sentence if so many values are moved that the work is done outside torch, or ""."""
    if moved <= most:
        return ""
    return (
        f"{moved:,} values leave torch or come from outside (tolist, numpy …), and work outside "
        "torch cannot be counted; keep the values in tensors"
    )


def _bounded(
    check: str, result: CaseResult, trouble: str, is_too_much: bool, summary: str
) -> Outcome:
    trouble = trouble or (summary if is_too_much else "")
    return result.failed(check, trouble) if trouble else result.passed(check, summary)
