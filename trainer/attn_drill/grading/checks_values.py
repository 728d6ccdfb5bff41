"""Checks on results: runs, shapes, dtype, values, masks, gradients, train/eval, properties."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import torch
from torch import Tensor

from attn_drill.grading.comparison import CaseResult, Comparison, frames_of, in_words
from attn_drill.grading.shapes import name_shape, shape_advice
from attn_drill.grading.sudden_end import RAISE_MEMORY
from attn_drill.grading.tensor_comparison import compare_dropout, compare_values
from attn_drill.grading.tolerance import allowed
from attn_drill.model.report import Mismatch, Outcome
from attn_drill.worker.protocol import CallFailure

# Part of torch's message for a write into an expanded tensor.
_WRITES_SHARED = "refers to a single memory location"
_LARGE_GRADIENT = 0.05  # of the largest gradient of the case
_PHASES = {
    "construct": "the constructor raised ",
    "backward": "the backward pass raised ",
    "second call": "a second call on the same object raised ",
    "forward with gradients": "with gradients enabled it raised ",
}


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
            mismatches = comparison.attribute_mismatches(result)
            wrong = (found for found in mismatches if found.kind in ("missing", "shape"))
            yield _attribute("shapes", result, next(wrong, None))


def dtype(comparison: Comparison) -> Iterator[Outcome]:
    """Check that every output has the dtype and device of the input, or the declared type."""
    for result in comparison.results:
        if comparison.ran(result):
            mismatches = comparison.attribute_mismatches(result)
            yield _attribute("dtype", result, next(mismatches, None))


def _attribute(check: str, result: CaseResult, found: Mismatch | None) -> Outcome:
    if found is None:
        return result.passed(check)
    return result.failed(check, attribute_message(result, found), found)


def attribute_message(result: CaseResult, found: Mismatch) -> str:
    """Return a sentence for an output that is missing or differs in shape, type or plain value."""
    sizes, name, actual = result.case.sizes, found.tensor, found.actual_type
    wanted = name_shape(found.expected_shape or (), sizes, found.dims)
    match found.kind:
        case "missing":
            return f"{name} is {actual}; it must be a tensor {wanted}"
        case "type":
            kind = "an int" if found.expected_type == "int" else f"a {found.expected_type}"
            return f"{name} is {actual}; it must be {kind}"
        case "plain":
            return f"{name} is {found.actual_value}; it must be {found.expected_value}"
        case "shape":
            advice = shape_advice(found.expected_shape or (), found.actual_shape or ())
            shape = name_shape(found.actual_shape or (), sizes, found.dims)
            return f"{name} is {shape}; it must be {wanted}" + (f"; {advice}" if advice else "")
    return f"{name} has {found.kind} {actual}; it must have {found.expected_type}"


def values(comparison: Comparison) -> Iterator[Outcome]:
    """Check that the output values are right."""
    yield from _compared(comparison, "values")


def masks(comparison: Comparison) -> Iterator[Outcome]:
    """Check that a masked position has no influence, for all mask shapes and large scores."""
    yield from _compared(comparison, "masks")


def _compared(comparison: Comparison, check: str) -> Iterator[Outcome]:
    for result in comparison.results:
        if result.case.check != check or result.case.dropout is not None:
            continue
        if comparison.ran(result):
            yield _valued(check, result, comparison.value_mismatch(result))


def _valued(check: str, result: CaseResult, found: Mismatch | None, when: str = "") -> Outcome:
    """Return the outcome of a comparison of values.

    Args:
        found: the difference, or None if the values are right.
        when: words for the call in which the values differ, with a space at the end.
    """
    if found is None:
        return result.passed(check)
    if found.kind != "value":
        return result.failed(check, when + attribute_message(result, found), found)
    share = percent(found.mismatched or 0, found.total or 1)
    message = (
        f"{when}{found.mismatched} of {found.total} values of {found.tensor} differ "
        f"({share}){_worst(found)}"
    )
    return result.failed(check, message, found)


def _worst(found: Mismatch) -> str:
    """Return the largest difference as `; at [1, 3, 5] it is 0.366 and must be -0.041`, or ""."""
    if found.worst is None or not found.max_abs_error_index:
        return ""
    index = found.max_abs_error_index
    place = index[-1] - found.worst.index[-1]
    actual, expected = found.worst.actual[place], found.worst.expected[place]
    if found.expected_type == "bool":
        return f"; at {list(index)} it is {bool(actual)} and must be {bool(expected)}"
    digits = 4
    while f"{actual:.{digits}g}" == f"{expected:.{digits}g}" and digits < 17:
        digits = {4: 6, 6: 9, 9: 17}[digits]
    return f"; at {list(index)} it is {actual:.{digits}g} and must be {expected:.{digits}g}"


def percent(part: int, whole: int) -> str:
    """Return a share in percent, e.g. `45%`. Only an exact share is shown as 0% or 100%."""
    rounded = round(100 * part / whole)
    if rounded == 0 and part:
        return "under 1%"
    return "over 99%" if rounded == 100 and part < whole else f"{rounded}%"


def gradients(comparison: Comparison) -> Iterator[Outcome]:
    """Check that right gradients reach every floating-point input and every parameter."""
    for result in comparison.results:
        if result.expected.gradients and comparison.right(result):
            yield _gradients_of(comparison, result)


def _gradients_of(comparison: Comparison, result: CaseResult) -> Outcome:
    reply = result.reply
    if reply.first.failure is not None:
        return _raised("gradients", result, reply.first.failure)
    if result.case.dtype == "bfloat16":
        return _arrives(comparison, result)
    for name, want in result.expected.gradients.items():
        got = comparison.gradient(reply, name)
        bound = result.expected.gradient_bounds[name]
        if trouble := _missing_gradient(name, want.value, got, bound):
            return result.failed("gradients", trouble)
        if got is not None and (found := comparison.gradient_mismatch(result, name)):
            return _valued("gradients", result, found)
    return result.passed("gradients")


def _missing_gradient(name: str, want: Tensor, got: Tensor | None, bound: Tensor) -> str:
    """Return a sentence if a gradient is missing or has the wrong shape, or ""."""
    if got is None:
        is_zero = not bool((want.abs() > bound).any())
        return "" if is_zero else f"no gradient reaches {name}"
    if got.shape != want.shape:
        return f"the gradient of {name} is {list(got.shape)}; it must be {list(want.shape)}"
    return ""


def _arrives(comparison: Comparison, result: CaseResult) -> Outcome:
    """Check only that large gradients arrive: in bfloat16, right gradients can differ a lot."""
    expected = result.expected
    for name, want in expected.gradients.items():
        least = _LARGE_GRADIENT * expected.gradient_scale
        if not want.value.numel() or float(want.value.abs().max()) <= least:
            continue
        got = comparison.gradient(result.reply, name)
        if got is None or not bool((got != 0).any()):
            return result.failed("gradients", f"no gradient reaches {name}")
    return result.passed("gradients")


def train_eval(comparison: Comparison) -> Iterator[Outcome]:
    """Check that dropout acts in training mode only, and only on the attention weights."""
    yield from _compared(comparison, "train/eval")
    for result in comparison.results:
        if result.case.dropout is not None and comparison.ran(result):
            for name in result.expected.outputs:
                yield _dropped(comparison, result, name, result.case.dropout)


_UNDER_DROPOUT = "the backward pass must drop and scale the same entries as the forward pass"


def _dropped(comparison: Comparison, result: CaseResult, name: str, dropout: float) -> Outcome:
    """Check one output that equals the attention weights under dropout."""
    first = comparison.value_of(result.reply.outputs.get(name))
    if first is None:
        return result.failed("train/eval", f"{name} is missing")
    trouble = _wrong_dropout(result, name, first, dropout)
    failure = next((call.failure for call in result.reply.calls if call.failure), None)
    if trouble is None and failure is not None:
        return _raised("train/eval", result, failure)
    for place, call in enumerate(comparison.calls(result)[1:], 1):
        value = comparison.value_of(result.reply.call(place).outputs.get(name))
        if value is None:
            return result.failed("train/eval", f"another call gives no {name}")
        if trouble is not None:
            break
        if call.is_in_eval_mode:
            if found := comparison.value_mismatch(result, place):
                when = "in eval mode, after a call in training mode, "
                return _valued("train/eval", result, found, when)
            continue
        if trouble := _wrong_dropout(result, name, value, dropout):
            trouble = f"after a call in eval mode, {trouble}"
        if trouble is None and torch.equal(value, first):
            trouble = (
                "another call in training mode drops the same attention weights: "
                "every call must draw new random numbers"
            )
    trouble = trouble or _dropped_gradients(comparison, result, name)
    return result.failed("train/eval", trouble) if trouble else result.passed("train/eval")


def _wrong_dropout(result: CaseResult, name: str, value: Tensor, dropout: float) -> str | None:
    """Return a sentence if the dropout of an output is wrong, or None."""
    case, want = result.case, result.expected.outputs[name]
    bound = allowed(want.value, case.dtype, want.lost)
    sizes = dict(case.sizes)
    return compare_dropout(name, case.dims[name], sizes, want.value, value, bound, dropout)


def _dropped_gradients(comparison: Comparison, result: CaseResult, name: str) -> str | None:
    """Return a sentence if the gradients under dropout are wrong, or None."""
    under = comparison.gradients_under(result, name)
    if under is None:
        return None
    for label, want in under.gradients.items():
        got, bound = comparison.gradient(result.reply, label), under.gradient_bounds[label]
        if trouble := _missing_gradient(label, want.value, got, bound):
            suffix = f": {_UNDER_DROPOUT}" if got is None else ""
            return f"in training mode {trouble}{suffix}"
        if got is None:
            continue
        found = compare_values(f"gradient of {label}", "", {}, want.value, got, bound)
        if found is not None:
            message = _valued("train/eval", result, found, "in training mode ").message
            return f"{message}: {_UNDER_DROPOUT}"
    return None


def properties(comparison: Comparison) -> Iterator[Outcome]:
    """Check that inputs stay unchanged, later calls are right, and any memory layout works."""
    yield from _compared(comparison, "properties")
    for result in comparison.results:
        if result.reply.failure is not None:
            continue
        changed = dict.fromkeys(name for call in result.reply.calls for name in call.changed)
        if changed:
            message = f"the input {', '.join(changed)} is changed in place; work on a copy"
            yield result.failed("properties", message)
        elif not result.case.probe and result.case.dropout is None and comparison.right(result):
            yield _further_calls(comparison, result)


def _further_calls(comparison: Comparison, result: CaseResult) -> Outcome:
    """Check the calls after the first call on the same object."""
    for place, call in enumerate(comparison.calls(result)[1:], 1):
        reply = result.reply.call(place)
        if reply.failure is not None:
            return _raised("properties", result, reply.failure)
        if reply.overwritten:
            names = ", ".join(reply.overwritten)
            message = f"a second call changes {names} that the first call returned"
            return result.failed("properties", message)
        when = (
            "on a second call with new values, "
            if call.values == "second"
            else "on a third call with the first values, "
        )
        if found := comparison.value_mismatch(result, place):
            return _valued("properties", result, found, when)
    return result.passed("properties")
