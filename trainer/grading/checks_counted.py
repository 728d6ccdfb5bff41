"""Checks on how a submission computes its results: from scratch, vectorised, memory, work.

These checks compare counts. They never measure time.
"""

from __future__ import annotations

from collections.abc import Iterator

from trainer.grading.comparison import CaseResult, Comparison, frames_of
from trainer.grading.held_memory import most_bytes
from trainer.grading.shapes import name_shape
from trainer.model.report import Outcome
from trainer.worker.forbidden_ops import is_forbidden_by
from trainer.worker.protocol import Counts

# In a vectorised pair, every letter that grows is larger by at least this much in the large case.
# A loop over such a letter dispatches at least one more operation per step. A smaller growth can
# come from torch, which splits products of other shapes in other ways.
LOOP_GROWTH = 4
# Matrix products must not exceed the formula. Products of single entries (a softmax by hand, a
# rotation) come on top of the formula.
WORK_SLACK = 1.5
_MOST_LEFT = 8  # values that may leave torch in a decode step, for example a flag or a length


def from_scratch(comparison: Comparison) -> Iterator[Outcome]:
    """Check that the submission calls neither the library's attention nor a forbidden operation."""
    if not comparison.reply.not_allowed:
        yield Outcome("from scratch", "passed")
        return
    call = comparison.reply.not_allowed[0]
    line = f" (line {call.frames[-1].line})" if call.frames else ""
    advice = "write attention from scratch"
    if is_forbidden_by(call.name, comparison.case_set.challenge.forbids):
        advice = "this challenge forbids it, so compute the result without it"
    message = f"{call.name} is called{line}: {advice}."
    yield Outcome("from scratch", "failed", message, frames=frames_of(call.frames))


def vectorised(comparison: Comparison) -> Iterator[Outcome]:
    """Check that the number of operations does not grow with batch, heads or length."""
    by_case = {result.prepared: result for result in comparison.results}
    for large in comparison.results:
        small = by_case.get(large.prepared.smaller) if large.prepared.smaller else None
        if large.case.probe != "vectorised" or small is None:
            continue
        if not (comparison.ran(small) and comparison.ran(large)):
            continue
        trouble = _tampered(small) or _tampered(large) or loop_between(small, large)
        before, after = (result.reply.counts[:1] for result in (small, large))
        if trouble:
            yield large.failed("vectorised", trouble)
        else:
            yield large.passed(
                "vectorised", f"{before[0].operations} and {after[0].operations} operations"
            )


def loop_between(small: CaseResult, large: CaseResult) -> str:
    """Return a sentence about the count that grows from a small case to a large case, or "".

    The counts are compared for each kind of call that was counted in both cases: with and without
    gradients, in eval mode and in training mode.
    """
    sizes = ", ".join(
        f"{letter} {size}→{large.case.sizes[letter]}"
        for letter, size in small.case.sizes.items()
        if size != large.case.sizes[letter]
    )
    grown = f"when {sizes}" if sizes else "in this case"  # other inputs may have grown
    before = {_way(counts): counts for counts in small.reply.counts}
    idle: list[str] = []
    for many in large.reply.counts:
        few = before.get(_way(many))
        if few is None:
            continue
        way = _in_words(many, large)
        if min(few.operations, many.operations) == 0:
            # The next calls may need only a table that the first call has made.
            idle.append(way)
        elif found := _growth_between(few, many, f"{grown}{way}"):
            return found
    if idle and len(idle) == len(large.reply.counts):
        return (
            f"no tensor operation was counted{idle[0]}; do the work with torch's tensor operations"
        )
    return ""


def _growth_between(few: Counts, many: Counts, when: str) -> str:
    """Return a sentence about the count that grows, or "".

    Args:
        few: the counts of the small case.
        many: the counts of the large case.
        when: words for the sizes that grow and for the kind of call, for example "when L 5→30".
    """
    if many.operations - few.operations >= LOOP_GROWTH:
        return (
            f"{few.operations} tensor operations become {many.operations} {when}: "
            "there is a loop over batch, heads or positions. Replace the loop by one operation."
        )
    # Printing or saving values does not compute with them, so values must also come back.
    if min(many.left_torch - few.left_torch, many.entered_torch - few.entered_torch) >= LOOP_GROWTH:
        return (
            f"{few.left_torch} values leave torch (tolist, numpy …), and {many.left_torch} "
            f"{when}, and {many.entered_torch} come back: the work is done outside torch. "
            "Keep the values in tensors."
        )
    if many.lines - few.lines >= LOOP_GROWTH:
        return (
            f"{few.lines} lines of Python run, and {many.lines} {when}: "
            "there is a loop over batch, heads or positions. Replace the loop by one operation."
        )
    return ""


def _way(counts: Counts) -> tuple[bool, bool]:
    return counts.training, counts.gradients


def _in_words(counts: Counts, result: CaseResult) -> str:
    """Return words for the kind of call, or "" for a call in the case's mode without gradients."""
    words = ["with gradients"] if counts.gradients else []
    if counts.training != (result.case.mode == "train"):
        words.append("in training mode" if counts.training else "in eval mode")
    return f" ({', '.join(words)})" if words else ""


def _tampered(result: CaseResult) -> str:
    """Return a sentence about a contradiction between the counters of a case, or ""."""
    found = next((counts.tampered for counts in result.reply.counts if counts.tampered), "")
    if not found and not result.reply.counts:
        found = "the worker sent no counts"
    return f"the counters were tampered with: {found}" if found else ""


def tampered(comparison: Comparison) -> str:
    """Return a sentence about the first contradiction between counters in any case, or ""."""
    for result in comparison.results:
        if result.case.probe and comparison.ran(result) and (text := _tampered(result)):
            return text
    return ""


def memory(comparison: Comparison) -> Iterator[Outcome]:
    """Check that no tensor has `limit` entries, and that half of `limit` is never held at once."""
    for result in comparison.results:
        if not comparison.ran(result):
            continue
        trouble = summary = ""
        if result.case.probe == "memory" and result.case.limit is not None:
            summary, is_too_large = _largest_tensor(result, result.case.limit)
            trouble = _tampered(result) or (summary if is_too_large else "")
        elif result.case.probe == "held":
            # The smaller case only serves as the base of the comparison.
            is_larger = result.prepared.smaller is not None
            trouble = _tampered(result) or (_held_too_much(comparison, result) if is_larger else "")
        else:
            continue
        yield result.failed("memory", trouble) if trouble else result.passed("memory", summary)


def _largest_tensor(result: CaseResult, limit: int) -> tuple[str, bool]:
    """Return a sentence about the size of the largest tensor, and whether the tensor is too large.

    Args:
        result: the result of a memory probe.
        limit: the smallest number of entries that is too large.
    """
    worst = max(result.reply.counts, key=lambda counts: counts.largest, default=Counts())
    letters, has_letters, _ = name_shape((limit,), result.case.sizes).strip("[]").partition("=")
    bound = f"{limit:,} ({letters})" if has_letters else f"{limit:,}"
    summary = (
        f"the largest tensor made has {worst.largest:,} entries{_in_words(worst, result)}; "
        f"it must have fewer than {bound}"
    )
    return summary, not 0 < worst.largest < limit


def _held_too_much(comparison: Comparison, result: CaseResult) -> str:
    """Return a sentence if a case holds too many bytes at once, or ""."""
    alive = max((counts.alive for counts in result.reply.counts), default=0)
    most = most_bytes(result.case)
    if alive >= most:
        return (
            f"{alive:,} bytes of tensors are alive at once; there must be fewer than {most:,}, "
            f"half of {result.case.limit:,} entries of {result.case.dtype}"
        )
    held = comparison.held
    return held.trouble if held is not None and held.index == result.index else ""


def work(comparison: Comparison) -> Iterator[Outcome]:
    """Check that products do not take more floating-point operations than the formula.

    Matrix products may take the formula's count. All products together, those of single entries
    too, may take `WORK_SLACK` times as many.
    """
    for result in comparison.results:
        limit = result.case.limit
        if result.case.probe == "work" and limit is not None and comparison.ran(result):
            summary, is_too_much = _work_of(result, limit)
            trouble = _tampered(result) or _work_outside(result) or (summary if is_too_much else "")
            yield result.failed("work", trouble) if trouble else result.passed("work", summary)


def _work_of(result: CaseResult, limit: int) -> tuple[str, bool]:
    """Return a sentence about the operations that products take, and whether they are too many."""
    worst = max(
        result.reply.counts,
        key=lambda counts: max(counts.matrix_flops, counts.flops / WORK_SLACK),
        default=Counts(),
    )
    has_slack = worst.flops <= WORK_SLACK * limit
    counted = worst.matrix_flops if has_slack else worst.flops
    summary = (
        f"{counted:,} floating-point operations in products{_in_words(worst, result)}; "
        f"the formula gives {limit:,}"
    )
    return summary, worst.matrix_flops > limit or not has_slack


def _work_outside(result: CaseResult) -> str:
    """Return a sentence if values leave torch, because work outside is not counted, or ""."""
    moved = max(
        (max(counts.left_torch, counts.entered_torch) for counts in result.reply.counts), default=0
    )
    if moved <= _MOST_LEFT:
        return ""
    return (
        f"{moved:,} values leave torch or come from outside (tolist, numpy …), and work outside "
        "torch cannot be counted; keep the values in tensors"
    )
