"""Checks on how it is done: from scratch, vectorised, memory, work. Counted, never timed."""

from __future__ import annotations

from collections.abc import Iterator

from trainer.core.report import Outcome
from trainer.grading.evidence import CaseEvidence, Evidence, frames_of, name_shape
from trainer.grading.held_memory import measured_pair, most_bytes
from trainer.running.protocol import Counts

# The large case of a vectorised pair has at least this many more of every letter than the small one; a loop over any of
# them dispatches at least one operation more each. Fewer more may come from how torch splits products of other shapes.
LOOP_GROWTH = 4
# Matrix products keep to the formula. Products of single entries (a softmax by hand, a rotation) come on top of it.
WORK_SLACK = 1.5
_MOST_LEFT = 8  # values that may leave torch in a decode step: a flag, a length


def from_scratch(evidence: Evidence) -> Iterator[Outcome]:
    """The library's attention is not called, under any name."""
    if not evidence.reply.not_allowed:
        yield Outcome("from scratch", "passed")
        return
    told = evidence.reply.not_allowed[0]
    where = f" (line {told.frames[-1].line})" if told.frames else ""
    yield Outcome(
        "from scratch",
        "failed",
        f"{told.name} is called{where}: attention is to be written from scratch.",
        frames=frames_of(told.frames),
    )


def vectorised(evidence: Evidence) -> Iterator[Outcome]:
    """The work does not grow step by step with batch, heads or length."""
    probes = [one for one in evidence.cases if one.case.probe == "vectorised"]
    for small, large in zip(probes[::2], probes[1::2], strict=False):
        if not (evidence.ran(small) and evidence.ran(large)):
            continue
        trouble = _tampered(small) or _tampered(large) or loop_between(small, large)
        if trouble:
            yield Outcome("vectorised", "failed", trouble, large.case.name, large.number + 1)
        else:
            text = f"{small.told.counts[0].operations} and {large.told.counts[0].operations} operations"
            yield Outcome("vectorised", "passed", text, large.case.name, large.number + 1)


def loop_between(small: CaseEvidence, large: CaseEvidence) -> str:
    """Return a sentence that says what grows from a small case to a large case, or "".

    Each way in which both were counted is compared: with gradients and without, in eval and in training mode.
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
        where = _in_words(many, large)
        if min(few.operations, many.operations) == 0:
            idle.append(
                where
            )  # a table that the first call has made may be all that the next calls need
            continue
        if many.operations - few.operations >= LOOP_GROWTH:
            return (
                f"{few.operations} tensor operations become {many.operations} when {sizes}{where}: "
                "there is a loop over batch, heads or positions. Let one operation do all of them."
            )
        # To print or to save values is no work on them; so something has to come back.
        if min(many.left - few.left, many.entered - few.entered) >= LOOP_GROWTH:
            return (
                f"{few.left} values leave torch (tolist, numpy …), and {many.left} when {sizes}{where}, "
                f"and {many.entered} come back: the work on them is done outside. Keep it in tensors."
            )
        if many.lines - few.lines >= LOOP_GROWTH:
            return (
                f"{few.lines} lines of Python run, and {many.lines} when {sizes}{where}: "
                "there is a loop over batch, heads or positions. Let one operation do all of them."
            )
    if idle and len(idle) == len(large.told.counts):
        return f"no tensor operation was counted{idle[0]}; the work is to be done by torch's operations on tensors"
    return ""


def _way(counts: Counts) -> tuple[bool, bool]:
    return counts.training, counts.gradients


def _in_words(counts: Counts, one: CaseEvidence) -> str:
    """Say in which way a call was made, if it is not the usual way."""
    words = ["with gradients"] if counts.gradients else []
    if counts.training != (one.case.mode == "train"):
        words.append("in training mode" if counts.training else "in eval mode")
    return f" ({', '.join(words)})" if words else ""


def _tampered(one: CaseEvidence) -> str:
    """Return a sentence that says how the counters of a case contradict each other, or ""."""
    found = next((counts.tampered for counts in one.told.counts if counts.tampered), "")
    if not found and not one.told.counts:
        found = "none came"
    return f"the counters were tampered with: {found}" if found else ""


def tampered(evidence: Evidence) -> str:
    """Return a sentence that says how the counters contradict each other in some case, or ""."""
    return next(
        (
            text
            for one in evidence.cases
            if one.case.probe and evidence.ran(one) and (text := _tampered(one))
        ),
        "",
    )


def memory(evidence: Evidence) -> Iterator[Outcome]:
    """No tensor is as large as the whole, and not half of that is alive at once."""
    for one in evidence.cases:
        if one.case.probe == "memory" and one.case.limit is not None and evidence.ran(one):
            text = _tampered(one)
            worst = max(one.told.counts, key=lambda counts: counts.largest, default=Counts())
            named = name_shape((one.case.limit,), dict(one.case.sizes)).strip("[]")
            bound = f"{one.case.limit:,}" + (
                f" ({named.partition('=')[0]})" if "=" in named else ""
            )
            told = f"the largest tensor made has {worst.largest:,} entries{_in_words(worst, one)}; it must have fewer than {bound}"
            if not text and not 0 < worst.largest < one.case.limit:
                text = told
            yield Outcome(
                "memory",
                "failed" if text else "passed",
                text or told,
                one.case.name,
                one.number + 1,
            )
        if one.case.probe == "held" and evidence.ran(one):
            # The first of the two is there to be compared with.
            is_larger = one.number == (measured_pair(evidence.exam.cases) or (0, 0))[1]
            text = _tampered(one) or (_held(evidence, one) if is_larger else "")
            yield Outcome(
                "memory", "failed" if text else "passed", text, one.case.name, one.number + 1
            )


def _held(evidence: Evidence, one: CaseEvidence) -> str:
    """Return a sentence that says how much more a case holds at once than it may, or ""."""
    alive, most = max((counts.alive for counts in one.told.counts), default=0), most_bytes(one.case)
    if alive >= most:
        return f"{alive:,} bytes of tensors are alive at once; it must be fewer than {most:,}, half of {one.case.limit:,} entries of {one.case.dtype}"
    return (
        evidence.held.trouble
        if evidence.held is not None and evidence.held.number == one.number
        else ""
    )


def work(evidence: Evidence) -> Iterator[Outcome]:
    """The products do no more multiply-adds than the formula allows, and a half for work on single entries."""
    for one in evidence.cases:
        if one.case.probe == "work" and one.case.limit is not None and evidence.ran(one):
            text = _tampered(one)
            worst = max(
                one.told.counts,
                key=lambda counts: max(counts.matrix_flops, counts.flops / WORK_SLACK),
                default=Counts(),
            )
            left = max((max(counts.left, counts.entered) for counts in one.told.counts), default=0)
            counted = (
                worst.matrix_flops if worst.flops <= WORK_SLACK * one.case.limit else worst.flops
            )
            told = f"{counted:,} floating-point operations in products{_in_words(worst, one)}; the formula gives {one.case.limit:,}"
            if not text and left > _MOST_LEFT:
                text = f"{left:,} values leave torch or come from outside (tolist, numpy …), where work cannot be counted; keep it in tensors"
            if not text and (
                worst.matrix_flops > one.case.limit or worst.flops > WORK_SLACK * one.case.limit
            ):
                text = told
            yield Outcome(
                "work", "failed" if text else "passed", text or told, one.case.name, one.number + 1
            )
