"""Checks on the runs of the cases: their results, and how a submission computes them.

The results: runs, shapes, dtype, values, masks, gradients, train/eval, properties. The way: from
scratch, vectorised, memory, work. These four compare counts and never measure time.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from attn_drill.grading._tolerance import allowed, compare_dropout, compare_values
from attn_drill.grading.checks_load import RAISE_MEMORY
from attn_drill.grading.comparison import CaseResult, Comparison, frames_of, in_words
from attn_drill.grading.pictures import name_shape, shape_advice
from attn_drill.model.report import Mismatch, Outcome
from attn_drill.worker.library_calls import TORCH
from attn_drill.worker.protocol import DTYPES, CallFailure, RunCost

# Part of torch's message for a write into an expanded tensor.
_WRITES_SHARED = "refers to a single memory location"
_LARGE_GRADIENT = 0.05  # of the largest gradient of the case
_PHASES = {
    "construct": "the constructor raised ",
    "backward": "the backward pass raised ",
    "second call": "a second call on the same object raised ",
    "forward with gradients": "with gradients enabled it raised ",
}
_UNDER_DROPOUT = "the backward pass must drop and scale the same entries as the forward pass"

# In a vectorised pair, every letter that grows is larger by at least this much in the large case.
# A loop over such a letter dispatches at least one more operation per step. A smaller growth can
# come from torch, which splits products of other shapes in other ways.
LOOP_GROWTH = 4
# Matrix products must not exceed the formula. Products of single entries (a softmax by hand, a
# rotation) come on top of the formula.
WORK_SLACK = 1.5
_MOST_MOVED = 8  # values that may leave or enter torch in a decode step: a flag, a length


def runs(comparison: Comparison) -> Iterator[Outcome]:
    """Check that every case runs without an exception."""
    for result in comparison.results:
        failure = result.reply.failure
        if failure is None:
            yield result.passed("runs")
        elif failure.type == "NotAllowedError" and comparison.reply.not_allowed:
            message = "stopped by a call that is not allowed"
            yield Outcome("runs", "skipped", message, result.case.name, result.number)
        else:
            yield _raised("runs", result, failure)


def _raised(check: str, result: CaseResult, failure: CallFailure) -> Outcome:
    reason = ""
    if failure.out_of_memory:
        reason = "the code requested more memory than the limit allows: "
    if _WRITES_SHARED in failure.message:
        reason += (
            "an input is changed in place, and here several of its entries share memory; "
            "work on a copy: "
        )
    phase = _PHASES.get(failure.phase, "")
    line = f" at line {failure.frames[-1].line}" if failure.frames else ""
    message = f"{reason}{phase}{in_words(failure)}{line}"
    failed = result.failed(check, message, frames=frames_of(failure.frames))
    return replace(failed, advice=RAISE_MEMORY if failure.out_of_memory else "")


def shapes(comparison: Comparison) -> Iterator[Outcome]:
    """Check that every output is a tensor of the right shape."""
    for result in comparison.results:
        if result.reply.failure is None:
            mismatches = result.attribute_mismatches()
            wrong = (mismatch for mismatch in mismatches if mismatch.kind in ("missing", "shape"))
            yield _compared("shapes", result, next(wrong, None))


def dtype(comparison: Comparison) -> Iterator[Outcome]:
    """Check that every output has the dtype and device of the input, or the declared type."""
    for result in comparison.results:
        if result.ran:
            yield _compared("dtype", result, next(result.attribute_mismatches(), None))


def values(comparison: Comparison) -> Iterator[Outcome]:
    """Check that the output values are right."""
    yield from _first_calls(comparison, "values")


def masks(comparison: Comparison) -> Iterator[Outcome]:
    """Check that a masked position has no influence, for all mask shapes and large scores."""
    yield from _first_calls(comparison, "masks")


def _first_calls(comparison: Comparison, check: str) -> Iterator[Outcome]:
    for result in comparison.results:
        if result.case.check == check and result.case.dropout is None and result.ran:
            yield _compared(check, result, result.value_mismatch())


def _compared(check: str, result: CaseResult, mismatch: Mismatch | None, when: str = "") -> Outcome:
    """Return the outcome of a comparison. `when` is "" or words for the call before a space."""
    if mismatch is None:
        return result.passed(check)
    return result.failed(check, when + _in_words(mismatch, result), mismatch)


def _in_words(mismatch: Mismatch, result: CaseResult) -> str:
    """Return a sentence about a missing output, or about a difference."""
    sizes, name, actual = result.case.sizes, mismatch.tensor, mismatch.actual_type
    expected_shape, actual_shape = mismatch.expected_shape or (), mismatch.actual_shape or ()
    wanted = name_shape(expected_shape, sizes, mismatch.dims)
    match mismatch.kind:
        case "value":
            wrong, total = mismatch.mismatched or 0, mismatch.total or 1
            share = f"{wrong} of {total} values of {name} differ ({percent(wrong, total)})"
            return share + _worst(mismatch)
        case "missing":
            return f"{name} is {actual}; it must be a tensor {wanted}"
        case "type":
            kind = "an int" if mismatch.expected_type == "int" else f"a {mismatch.expected_type}"
            return f"{name} is {actual}; it must be {kind}"
        case "plain":
            return f"{name} is {mismatch.actual_value}; it must be {mismatch.expected_value}"
        case "shape":
            advice = shape_advice(expected_shape, actual_shape)
            shape = name_shape(actual_shape, sizes, mismatch.dims)
            return f"{name} is {shape}; it must be {wanted}" + (f"; {advice}" if advice else "")
    return f"{name} has {mismatch.kind} {actual}; it must have {mismatch.expected_type}"


def _worst(mismatch: Mismatch) -> str:
    """Return the largest difference as `; at [1, 3, 5] it is 0.366 and must be -0.041`, or ""."""
    worst, index = mismatch.worst, mismatch.max_abs_error_index
    if worst is None or not index:
        return ""
    place = index[-1] - worst.index[-1]
    actual, expected = worst.actual[place], worst.expected[place]
    if mismatch.expected_type == "bool":
        return f"; at {list(index)} it is {bool(actual)} and must be {bool(expected)}"
    digits = 4
    while f"{actual:.{digits}g}" == f"{expected:.{digits}g}" and digits < 17:
        digits = {4: 6, 6: 9, 9: 17}[digits]
    return f"; at {list(index)} it is {actual:.{digits}g} and must be {expected:.{digits}g}"


def percent(part: int, whole: int) -> str:
    """Return a share in percent. Only an exact share is shown as 0% or 100%.

    >>> percent(9, 20), percent(1, 1000), percent(999, 1000)
    ('45%', 'under 1%', 'over 99%')
    """
    rounded = round(100 * part / whole)
    if rounded == 0 and part:
        return "under 1%"
    return "over 99%" if rounded == 100 and part < whole else f"{rounded}%"


def gradients(comparison: Comparison) -> Iterator[Outcome]:
    """Check that right gradients reach every floating-point input and every parameter."""
    for result in comparison.results:
        if result.expected.gradients and result.right:
            yield _gradients_of(result)


def _gradients_of(result: CaseResult) -> Outcome:
    failure, expected = result.reply.first.failure, result.expected
    if failure is not None:
        return _raised("gradients", result, failure)
    least = _LARGE_GRADIENT * expected.gradient_scale
    for name, want in expected.gradients.items():
        got = result.gradient(name)
        if result.case.dtype == "bfloat16":
            # Right gradients can differ a lot here, so large gradients must arrive, and no more.
            is_large = bool((want.value.abs() > least).any())
            if is_large and (got is None or not bool(got.any())):
                return result.failed("gradients", f"no gradient reaches {name}")
            continue
        if trouble := _missing_gradient(name, want.value, got, expected.gradient_bounds[name]):
            return result.failed("gradients", trouble)
        if mismatch := result.gradient_mismatch(name):
            return _compared("gradients", result, mismatch)
    return result.passed("gradients")


def _missing_gradient(name: str, want: Tensor, got: Tensor | None, bound: Tensor) -> str:
    """Return a sentence if a gradient is missing or has the wrong shape, or ""."""
    if got is None:
        is_zero = not bool((want.abs() > bound).any())
        return "" if is_zero else f"no gradient reaches {name}"
    if got.shape != want.shape:
        return f"the gradient of {name} is {list(got.shape)}; it must be {list(want.shape)}"
    return ""


def train_eval(comparison: Comparison) -> Iterator[Outcome]:
    """Check that dropout acts in training mode only, and only on the attention weights."""
    yield from _first_calls(comparison, "train/eval")
    for result in comparison.results:
        if result.case.dropout is not None and result.ran:
            for name in result.expected.outputs:
                yield _dropped(result, name, result.case.dropout)


def _dropped(result: CaseResult, name: str, dropout: float) -> Outcome:
    """Check one output that equals the attention weights under dropout."""
    first = result.value_of(result.reply.outputs.get(name))
    if first is None:
        return result.failed("train/eval", f"{name} is missing")
    trouble = _wrong_dropout(result, name, first, dropout)
    failure = next((call.failure for call in result.reply.calls if call.failure), None)
    if trouble is None and failure is not None:
        return _raised("train/eval", result, failure)
    for place, call in enumerate(result.calls[1:], 1):
        value = result.value_of(result.reply.call(place).outputs.get(name))
        if value is None:
            return result.failed("train/eval", f"another call gives no {name}")
        if trouble is not None:
            break
        if call.is_in_eval_mode:
            if mismatch := result.value_mismatch(place):
                when = "in eval mode, after a call in training mode, "
                return _compared("train/eval", result, mismatch, when)
            continue
        if trouble := _wrong_dropout(result, name, value, dropout):
            trouble = f"after a call in eval mode, {trouble}"
        elif torch.equal(value, first):
            trouble = (
                "another call in training mode drops the same attention weights: "
                "every call must draw new random numbers"
            )
    trouble = trouble or _dropped_gradients(result, name)
    return result.failed("train/eval", trouble) if trouble else result.passed("train/eval")


def _wrong_dropout(result: CaseResult, name: str, value: Tensor, dropout: float) -> str | None:
    """Return a sentence if the dropout of an output is wrong, or None."""
    case, want = result.case, result.expected.outputs[name]
    bound = allowed(want.value, case.dtype, want.lost)
    return compare_dropout(case.dims[name], case.sizes, want.value, value, bound, dropout)


def _dropped_gradients(result: CaseResult, name: str) -> str | None:
    """Return a sentence if the gradients under dropout are wrong, or None."""
    under = result.gradients_under(name)
    if under is None:
        return None
    for label, want in under.gradients.items():
        got, bound = result.gradient(label), under.gradient_bounds[label]
        if trouble := _missing_gradient(label, want.value, got, bound):
            suffix = f": {_UNDER_DROPOUT}" if got is None else ""
            return f"in training mode {trouble}{suffix}"
        if got is None:
            continue
        mismatch = compare_values(f"gradient of {label}", "", {}, want.value, got, bound)
        if mismatch is not None:
            return f"in training mode {_in_words(mismatch, result)}: {_UNDER_DROPOUT}"
    return None


def properties(comparison: Comparison) -> Iterator[Outcome]:
    """Check that inputs stay unchanged, later calls are right, and any memory layout works."""
    yield from _first_calls(comparison, "properties")
    for result in comparison.results:
        if result.reply.failure is not None:
            continue
        changed = dict.fromkeys(name for call in result.reply.calls for name in call.changed)
        if changed:
            message = f"the input {', '.join(changed)} is changed in place; work on a copy"
            yield result.failed("properties", message)
        elif not result.case.probe and result.case.dropout is None and result.right:
            yield _further_calls(result)


def _further_calls(result: CaseResult) -> Outcome:
    """Check the calls after the first call on the same object."""
    for place, call in enumerate(result.calls[1:], 1):
        reply = result.reply.call(place)
        if reply.failure is not None:
            return _raised("properties", result, reply.failure)
        if reply.overwritten:
            names = ", ".join(reply.overwritten)
            message = f"a second call changes {names} that the first call returned"
            return result.failed("properties", message)
        if mismatch := result.value_mismatch(place):
            when = "on a third call with the first values, "
            if call.values == "second":
                weights = " and other weights" if call.weights != 1.0 else ""
                when = f"on a second call with new values{weights}, "
            return _compared("properties", result, mismatch, when)
    return result.passed("properties")


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
    does = "imported" if call.name == TORCH else "called"
    message = f"{call.name} is {does}{line}: {advice}."
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
