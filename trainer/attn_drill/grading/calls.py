"""Decide which calls a worker makes in each case.

A case is called twice: with gradients on the first values, then without gradients on other values
in the same memory. A submission that is right in one kind of call only, or that keeps a mask or a
result of an earlier call, is wrong in one of the two.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

from attn_drill.grading.prepared_case import PreparedCase
from attn_drill.worker.protocol import Call

# The purpose of a request. Only "grade" makes the calls that a verdict needs. The others make one
# call for each case: "outputs" sends its outputs, "facts" gathers facts for the lesson, and the
# rest records its steps (see `worker.protocol.Observe`).
Purpose = Literal["grade", "lines", "tensors", "gradients", "outputs", "facts"]
Calls = tuple[Call, ...]

_FIRST, _FIRST_WITH_GRADIENTS = Call(), Call(gradients=True)
_SECOND = Call("second", is_in_same_memory=True)
_IN_EVAL_MODE = Call(is_in_eval_mode=True)
_COUNTED = (Call(observe="cost"),)


def calls_for(purpose: Purpose, graded: Calls) -> Calls:
    """Return the calls of a case for a purpose."""
    if purpose == "grade":
        return graded
    return (_FIRST if purpose == "outputs" else Call(observe=purpose),)


def graded_calls(prepared: Sequence[PreparedCase]) -> tuple[Calls, ...]:
    """Return the calls that a verdict needs, for each case."""
    kinds: set[tuple[str, str]] = set()
    of_cases: list[Calls] = []
    for case in prepared:
        first = _FIRST_WITH_GRADIENTS if case.cotangents else _FIRST
        if case.case.probe:
            of_cases.append(_COUNTED)
        elif case.case.dropout is not None:
            # The two calls in training mode must draw other random numbers. Between them, nothing
            # may be dropped.
            of_cases.append((first, _IN_EVAL_MODE, _FIRST))
        elif (kind := (case.case.mode, case.case.check)) not in kinds:
            # Once for each kind of case, a third call on the first values shows results that are
            # random, or that the second call has spoilt.
            kinds.add(kind)
            of_cases.append((first, _SECOND, _FIRST))
        else:
            of_cases.append((first, _SECOND))
    return tuple(of_cases)
