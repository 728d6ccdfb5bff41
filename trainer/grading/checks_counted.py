"""Checks on how it is done: from scratch, vectorised, memory, work. Counted, never timed."""

from __future__ import annotations

from collections.abc import Iterator

from trainer.grading.comparison import CaseResult, Comparison, frames_of
from trainer.grading.held_memory import most_bytes
from trainer.grading.shapes import name_shape
from trainer.model.report import Outcome
from trainer.worker.protocol import Counts

# The large case of a vectorised pair has at least this many more of every letter than the small one; a loop over any of
# them dispatches at least one operation more each. Fewer more may come from how torch splits products of other shapes.
LOOP_GROWTH = 4
# Matrix products keep to the formula. Products of single entries (a softmax by hand, a rotation) come on top of it.
WORK_SLACK = 1.5
_MOST_LEFT = 8  # values that may leave torch in a decode step: a flag, a length


def from_scratch(comparison: Comparison) -> Iterator[Outcome]:
    """Check that the library's attention is not called, under any name."""
    if not comparison.reply.not_allowed:
        yield Outcome("from scratch", "passed")
        return
    told = comparison.reply.not_allowed[0]
    line = f" (line {told.frames[-1].line})" if told.frames else ""
    message = f"{told.name} is called{line}: attention is to be written from scratch."
    yield Outcome("from scratch", "failed", message, frames=frames_of(told.frames))


def vectorised(comparison: Comparison) -> Iterator[Outcome]:
    """Check that the work does not grow step by step with batch, heads or length."""
    by_case = {result.prepared: result for result in comparison.results}
    for large in comparison.results:
        small = by_case.get(large.prepared.smaller) if large.prepared.smaller else None
        if large.case.probe != "vectorised" or small is None:
            continue
        if not (comparison.ran(small) and comparison.ran(large)):
            continue
        trouble = _tampered(small) or _tampered(large) or loop_between(small, large)
        before, after = (result.told.counts[:1] for result in (small, large))
        if trouble:
            yield large.failed("vectorised", trouble)
        else:
            yield large.passed(
                "vectorised", f"{before[0].operations} and {after[0].operations} operations"
            )


def loop_between(small: CaseResult, large: CaseResult) -> str:
    """Return a sentence that says what grows from a small case to a large case, or "".

    Each way in which both were counted is compared: with gradients and without, in eval and in
    training mode.
    """
    sizes = ", ".join(
        f"{letter} {size}→{large.case.sizes[letter]}"
        for letter, size in small.case.sizes.items()
        if size != large.case.sizes[letter]
    )
    before = {_way(counts): counts for counts in small.told.counts}
    idle: list[str] = []
    for many in large.told.counts:
        few = before.get(_way(many))
        if few is None:
            continue
        way = _in_words(many, large)
        if min(few.operations, many.operations) == 0:
            # A table that the first call has made may be all that the next calls need.
            idle.append(way)
        elif found := _growth_between(few, many, f"{sizes}{way}"):
            return found
    if idle and len(idle) == len(large.told.counts):
        return (
            f"no tensor operation was counted{idle[0]}; "
            "the work is to be done by torch's operations on tensors"
        )
    return ""


def _growth_between(few: Counts, many: Counts, when: str) -> str:
    """Return a sentence that says which count grows, or "".

    Args:
        when: the sizes that grow, and the way in which the calls were made.
    """
    if many.operations - few.operations >= LOOP_GROWTH:
        return (
            f"{few.operations} tensor operations become {many.operations} when {when}: "
            "there is a loop over batch, heads or positions. Let one operation do all of them."
        )
    # Printing or saving values is no work on them, so values have to come back as well.
    if min(many.left - few.left, many.entered - few.entered) >= LOOP_GROWTH:
        return (
            f"{few.left} values leave torch (tolist, numpy …), and {many.left} when {when}, "
            f"and {many.entered} come back: the work on them is done outside. Keep it in tensors."
        )
    if many.lines - few.lines >= LOOP_GROWTH:
        return (
            f"{few.lines} lines of Python run, and {many.lines} when {when}: "
            "there is a loop over batch, heads or positions. Let one operation do all of them."
        )
    return ""


def _way(counts: Counts) -> tuple[bool, bool]:
    return counts.training, counts.gradients


def _in_words(counts: Counts, result: CaseResult) -> str:
    """Return the way in which a call was made, if it is not the usual way."""
    words = ["with gradients"] if counts.gradients else []
    if counts.training != (result.case.mode == "train"):
        words.append("in training mode" if counts.training else "in eval mode")
    return f" ({', '.join(words)})" if words else ""


def _tampered(result: CaseResult) -> str:
    """Return a sentence that says how the counters of a case contradict each other, or ""."""
    found = next((counts.tampered for counts in result.told.counts if counts.tampered), "")
    if not found and not result.told.counts:
        found = "none came"
    return f"the counters were tampered with: {found}" if found else ""


def tampered(comparison: Comparison) -> str:
    """Return a sentence that says how the counters contradict each other in some case, or ""."""
    for result in comparison.results:
        if result.case.probe and comparison.ran(result) and (text := _tampered(result)):
            return text
    return ""


def memory(comparison: Comparison) -> Iterator[Outcome]:
    """Check that no tensor is as large as the whole, and that half of that is never alive."""
    for result in comparison.results:
        if not comparison.ran(result):
            continue
        trouble = told = ""
        if result.case.probe == "memory" and result.case.limit is not None:
            told, is_too_large = _largest_tensor(result, result.case.limit)
            trouble = _tampered(result) or (told if is_too_large else "")
        elif result.case.probe == "held":
            # The smaller case is there to be compared with.
            is_larger = result.prepared.smaller is not None
            trouble = _tampered(result) or (_preloaded(comparison, result) if is_larger else "")
        else:
            continue
        yield result.failed("memory", trouble) if trouble else result.passed("memory", told)


def _largest_tensor(result: CaseResult, limit: int) -> tuple[str, bool]:
    """Return in words how large the largest tensor is, and whether that is too large.

    Args:
        limit: the first number of entries that is too large.
    """
    worst = max(result.told.counts, key=lambda counts: counts.largest, default=Counts())
    letters, has_letters, _ = name_shape((limit,), result.case.sizes).strip("[]").partition("=")
    bound = f"{limit:,} ({letters})" if has_letters else f"{limit:,}"
    told = (
        f"the largest tensor made has {worst.largest:,} entries{_in_words(worst, result)}; "
        f"it must have fewer than {bound}"
    )
    return told, not 0 < worst.largest < limit


def _preloaded(comparison: Comparison, result: CaseResult) -> str:
    """Return a sentence that says how much more a case holds at once than it may, or ""."""
    alive = max((counts.alive for counts in result.told.counts), default=0)
    most = most_bytes(result.case)
    if alive >= most:
        return (
            f"{alive:,} bytes of tensors are alive at once; it must be fewer than {most:,}, "
            f"half of {result.case.limit:,} entries of {result.case.dtype}"
        )
    held = comparison.held
    return held.trouble if held is not None and held.index == result.index else ""


def work(comparison: Comparison) -> Iterator[Outcome]:
    """Check that products do no more multiply-adds than the formula, and a half for entries."""
    for result in comparison.results:
        limit = result.case.limit
        if result.case.probe == "work" and limit is not None and comparison.ran(result):
            told, is_too_much = _work_of(result, limit)
            trouble = _tampered(result) or _work_outside(result) or (told if is_too_much else "")
            yield result.failed("work", trouble) if trouble else result.passed("work", told)


def _work_of(result: CaseResult, limit: int) -> tuple[str, bool]:
    """Return in words how many operations the products take, and whether these are too many."""
    worst = max(
        result.told.counts,
        key=lambda counts: max(counts.matrix_flops, counts.flops / WORK_SLACK),
        default=Counts(),
    )
    has_slack = worst.flops <= WORK_SLACK * limit
    counted = worst.matrix_flops if has_slack else worst.flops
    told = (
        f"{counted:,} floating-point operations in products{_in_words(worst, result)}; "
        f"the formula gives {limit:,}"
    )
    return told, worst.matrix_flops > limit or not has_slack


def _work_outside(result: CaseResult) -> str:
    """Return a sentence if values leave torch, where work cannot be counted, or ""."""
    left = max((max(counts.left, counts.entered) for counts in result.told.counts), default=0)
    if left <= _MOST_LEFT:
        return ""
    return (
        f"{left:,} values leave torch or come from outside (tolist, numpy …), "
        "where work cannot be counted; keep it in tensors"
    )
