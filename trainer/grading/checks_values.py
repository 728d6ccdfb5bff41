"""Checks on what comes out: runs, shapes, dtype, values, masks, gradients, train/eval, properties."""

from __future__ import annotations

from collections.abc import Iterator

import torch

from trainer.comparing.compare import compare_dropout, compare_values
from trainer.comparing.tolerance import allowed
from trainer.core.report import Mismatch, Outcome
from trainer.grading.evidence import (
    CaseEvidence,
    Evidence,
    frames_of,
    in_words,
    name_shape,
    shape_advice,
)
from trainer.running.protocol import Failure

# What torch says to a write into an expanded tensor.
_WRITES_SHARED = "refers to a single memory location"


def runs(evidence: Evidence) -> Iterator[Outcome]:
    """Every case runs without an exception."""
    for one in evidence.cases:
        failure = one.told.failure
        if failure is None:
            yield Outcome("runs", "passed", case=one.case.name, number=one.number + 1)
        elif failure.type == "NotAllowedError" and evidence.reply.not_allowed:
            yield Outcome(
                "runs", "skipped", "stopped by what is not allowed", one.case.name, one.number + 1
            )
        else:
            yield _raised("runs", one, failure)


def _raised(check: str, one: CaseEvidence, failure: Failure) -> Outcome:
    where = f" at line {failure.frames[-1].line}" if failure.frames else ""
    phase = {
        "construct": "the constructor raised ",
        "backward": "the backward pass raised ",
        "second call": "a second call on the same object raised ",
        "forward with gradients": "with gradients enabled it raised ",
    }.get(failure.phase, "")
    memory = (
        "more memory was asked for than the limit allows (`--memory-limit` raises it): "
        if failure.out_of_memory
        else ""
    )
    shared = (
        "an input is changed in place, and here several of its entries share memory; work on a copy: "
        if _WRITES_SHARED in failure.message
        else ""
    )
    text = f"{memory}{shared}{phase}{in_words(failure)}{where}"
    return Outcome(
        check, "failed", text, one.case.name, one.number + 1, frames=frames_of(failure.frames)
    )


def shapes(evidence: Evidence) -> Iterator[Outcome]:
    """Every output is a tensor of the right shape."""
    for one in evidence.cases:
        if one.told.failure is not None:
            continue
        wrong = next(
            (
                found
                for found in evidence.attribute_mismatches(one, one.told.outputs)
                if found.kind in ("missing", "shape")
            ),
            None,
        )
        yield _attribute("shapes", one, wrong)


def dtype(evidence: Evidence) -> Iterator[Outcome]:
    """Every output has the input's dtype and device; one that is no tensor, the type that was asked."""
    for one in evidence.cases:
        if evidence.ran(one):
            yield _attribute(
                "dtype", one, next(evidence.attribute_mismatches(one, one.told.outputs), None)
            )


def _attribute(check: str, one: CaseEvidence, found: Mismatch | None) -> Outcome:
    if found is None:
        return Outcome(check, "passed", case=one.case.name, number=one.number + 1)
    return Outcome(
        check, "failed", attribute_message(one, found), one.case.name, one.number + 1, found
    )


def attribute_message(one: CaseEvidence, found: Mismatch) -> str:
    """A sentence for a missing output, a wrong shape, dtype, device or type, a plain value that is another."""
    sizes = dict(one.case.sizes)
    wanted = name_shape(found.expected_shape or (), sizes, found.dims)
    if found.kind == "missing":
        return f"{found.tensor} is {found.actual_type}; it must be a tensor {wanted}"
    if found.kind == "type":
        return f"{found.tensor} is {found.actual_type}; it must be {'an int' if found.expected_type == 'int' else f'a {found.expected_type}'}"
    if found.kind == "plain":
        return f"{found.tensor} is {found.actual_value}; it must be {found.expected_value}"
    if found.kind == "shape":
        advice = shape_advice(found.expected_shape or (), found.actual_shape or ())
        text = f"{found.tensor} is {name_shape(found.actual_shape or (), sizes, found.dims)}; it must be {wanted}"
        return f"{text}; {advice}" if advice else text
    return (
        f"{found.tensor} has {found.kind} {found.actual_type}; it must have {found.expected_type}"
    )


def values(evidence: Evidence) -> Iterator[Outcome]:
    """The values are right."""
    yield from _compared(evidence, "values")


def masks(evidence: Evidence) -> Iterator[Outcome]:
    """A masked position has no influence at all, whatever the mask's shape and the size of the scores."""
    yield from _compared(evidence, "masks")


def _compared(evidence: Evidence, check: str) -> Iterator[Outcome]:
    for one in evidence.cases:
        if one.case.check == check and one.case.dropout is None and evidence.ran(one):
            found = evidence.value_mismatch(one, one.told.outputs)
            yield _valued(check, one, found)


def _valued(check: str, one: CaseEvidence, found: Mismatch | None, when: str = "") -> Outcome:
    if found is None:
        return Outcome(check, "passed", case=one.case.name, number=one.number + 1)
    if found.kind != "value":
        return Outcome(
            check,
            "failed",
            when + attribute_message(one, found),
            one.case.name,
            one.number + 1,
            found,
        )
    share = percent(found.mismatched or 0, found.total or 1)
    text = f"{when}{found.mismatched} of {found.total} values of {found.tensor} differ ({share}){_worst(found)}"
    return Outcome(check, "failed", text, one.case.name, one.number + 1, found)


def _worst(found: Mismatch) -> str:
    """`; at [1, 3, 5] it is 0.366 and must be -0.041`."""
    if found.worst is None or not found.max_abs_error_index:
        return ""
    place = found.max_abs_error_index[-1] - found.worst.index[-1]
    yours, expected = found.worst.actual[place], found.worst.expected[place]
    if found.expected_type == "bool":
        return f"; at {list(found.max_abs_error_index)} it is {bool(yours)} and must be {bool(expected)}"
    digits = next(
        (count for count in (4, 6, 9) if f"{yours:.{count}g}" != f"{expected:.{count}g}"), 17
    )
    return f"; at {list(found.max_abs_error_index)} it is {yours:.{digits}g} and must be {expected:.{digits}g}"


def percent(part: int, whole: int) -> str:
    """`45%`; neither 0% nor 100% unless it is none or all."""
    rounded = round(100 * part / whole)
    if rounded == 0 and part:
        return "under 1%"
    return "over 99%" if rounded == 100 and part < whole else f"{rounded}%"


def gradients(evidence: Evidence) -> Iterator[Outcome]:
    """Gradients reach every floating-point input and every parameter, and are right."""
    for one in evidence.cases:
        if not one.expected.gradients or not evidence.right(one):
            continue
        if _is_spoilt(evidence, one):  # `properties` says how
            continue
        if one.told.gradient_failure is not None:
            yield _raised("gradients", one, one.told.gradient_failure)
            continue
        if one.case.dtype == "bfloat16":
            yield _arrives(evidence, one)
            continue
        found = (
            evidence.value_mismatch(one, one.told.outputs_with_gradients)
            if one.told.outputs_with_gradients
            else None
        )
        if found is not None:
            yield _valued("gradients", one, found, "with gradients enabled, ")
            continue
        yield _gradient(evidence, one)


def _is_spoilt(evidence: Evidence, one: CaseEvidence) -> bool:
    """Whether a call is wrong after another one, with gradients or without."""
    told = one.told
    return told.again_failure is not None or (
        bool(told.outputs_once_more)
        and evidence.value_mismatch(one, told.outputs_once_more) is not None
    )


def _arrives(evidence: Evidence, one: CaseEvidence) -> Outcome:
    """In bfloat16 right gradients differ by much; that there are any is asked where they are large."""
    for name, want in one.expected.gradients.items():
        got = evidence.tensor(one.told.gradients.get(name, -1))
        large = (
            float(want.value.abs().max()) > 0.05 * one.expected.gradient_scale
            if want.value.numel()
            else False
        )
        if large and (got is None or not bool((got != 0).any())):
            return Outcome(
                "gradients", "failed", f"no gradient reaches {name}", one.case.name, one.number + 1
            )
    return Outcome("gradients", "passed", case=one.case.name, number=one.number + 1)


def _gradient(evidence: Evidence, one: CaseEvidence) -> Outcome:
    for name, want in one.expected.gradients.items():
        got = evidence.tensor(one.told.gradients.get(name, -1))
        if got is None:
            if bool((want.value.abs() > one.expected.gradient_bounds[name]).any()):
                return Outcome(
                    "gradients",
                    "failed",
                    f"no gradient reaches {name}",
                    one.case.name,
                    one.number + 1,
                )
            continue
        if got.shape != want.value.shape:
            text = (
                f"the gradient of {name} is {list(got.shape)}; it must be {list(want.value.shape)}"
            )
            return Outcome("gradients", "failed", text, one.case.name, one.number + 1)
        if found := evidence.gradient_mismatch(one, name):
            return _valued("gradients", one, found)
    return Outcome("gradients", "passed", case=one.case.name, number=one.number + 1)


def train_eval(evidence: Evidence) -> Iterator[Outcome]:
    """Dropout falls on the attention weights in training mode, and only there."""
    yield from _compared(evidence, "train/eval")
    for one in evidence.cases:
        if one.case.dropout is None or not evidence.ran(one):
            continue
        for name, want in one.expected.outputs.items():
            value = evidence.value_of(one.told.outputs.get(name))
            trouble: str | None = f"{name} did not arrive"
            if value is not None:
                bound = allowed(want.value, one.case.dtype, want.lost)
                trouble = compare_dropout(
                    name,
                    one.case.dims[name],
                    dict(one.case.sizes),
                    want.value,
                    value,
                    bound,
                    one.case.dropout,
                )
                again = evidence.value_of(one.told.outputs_once_more.get(name))
                if trouble is None and again is not None and torch.equal(again, value):
                    trouble = "another call in training mode drops the same attention weights: every call must draw anew"
            if trouble is None and one.told.gradient_failure is not None:
                yield _raised("train/eval", one, one.told.gradient_failure)
                continue
            trouble = trouble or _dropped_gradients(evidence, one, name)
            yield Outcome(
                "train/eval",
                "failed" if trouble else "passed",
                trouble or "",
                one.case.name,
                one.number + 1,
            )


_UNDER_DROPOUT = "the backward pass must drop and scale the same entries as the forward pass"


def _dropped_gradients(evidence: Evidence, one: CaseEvidence, name: str) -> str | None:
    """Return how the gradients under dropout are wrong, or None.

    Args:
        name: the output that reads the attention weights out.
    """
    value = evidence.value_of(one.told.outputs_with_gradients.get(name))
    if value is None or one.case.dropout is None:
        return None
    want = one.expected.outputs[name]
    bound = allowed(want.value, one.case.dtype, want.lost)
    trouble = compare_dropout(
        name, one.case.dims[name], dict(one.case.sizes), want.value, value, bound, one.case.dropout
    )
    if trouble is not None:
        return f"with gradients enabled, {trouble}"
    under = evidence.gradients_under(one, name)
    for label, expected in under.gradients.items() if under is not None else ():
        got = evidence.tensor(one.told.gradients.get(label, -1))
        limit = under.gradient_bounds[label] if under is not None else expected.value
        if got is None:
            if bool((expected.value.abs() > limit).any()):
                return f"in training mode no gradient reaches {label}: {_UNDER_DROPOUT}"
            continue
        if got.shape != expected.value.shape:
            return f"in training mode the gradient of {label} is {list(got.shape)}; it must be {list(expected.value.shape)}"
        found = compare_values(f"gradient of {label}", "", {}, expected.value, got, limit)
        if found is not None:
            said = _valued("train/eval", one, found, "in training mode ").message
            return f"{said}: {_UNDER_DROPOUT}"
    return None


def properties(evidence: Evidence) -> Iterator[Outcome]:
    """Inputs stay untouched, a second call is as right as the first, memory may be laid out in any way."""
    yield from _compared(evidence, "properties")
    for one in evidence.cases:
        if one.told.failure is not None:
            continue
        changed = [
            name
            for name, tensor in evidence.exam.inputs(one.number).items()
            if not _same_bits(tensor, evidence.tensor(one.told.inputs_after.get(name, -1)))
        ]
        if changed:
            text = f"the input {', '.join(changed)} is changed in place; work on a copy"
            yield Outcome("properties", "failed", text, one.case.name, one.number + 1)
            continue
        if one.case.probe or one.case.dropout is not None or not evidence.right(one):
            continue
        if one.told.again_failure is not None:
            yield _raised("properties", one, one.told.again_failure)
            continue
        if one.told.overwritten:
            text = f"a second call changes {', '.join(one.told.overwritten)} that the first call returned"
            yield Outcome("properties", "failed", text, one.case.name, one.number + 1)
            continue
        found, when = (
            evidence.value_mismatch(one, one.told.outputs_again, again=True),
            "on a second call with new values, ",
        )
        if found is None and (
            third := one.told.outputs_once_more or one.told.outputs_with_gradients
        ):
            found, when = (
                evidence.value_mismatch(one, third),
                "on a third call with the first values, ",
            )
        yield _valued("properties", one, found, when)


def _same_bits(before: torch.Tensor, after: torch.Tensor | None) -> bool:
    return (
        after is not None
        and before.shape == after.shape
        and before.dtype == after.dtype
        and torch.equal(before, after)
    )
