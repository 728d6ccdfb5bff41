"""Compare the failures of two graded answers: their checks, messages and gradients."""

from __future__ import annotations

import re

from torch import Tensor

from attn_drill.diagnosis.observed import RELATIVE, is_equal
from attn_drill.grading.comparison import Comparison
from attn_drill.model.report import Report


def failures(report: Report) -> set[tuple[str, int | None, str]]:
    """Return the failed checks, each with the number of its case or with its message."""
    return {
        (outcome.check, outcome.number, "" if outcome.number else outcome.message)
        for outcome in report.outcomes
        if outcome.status == "failed"
    }


def without_numbers(message: str) -> str:
    """Return a message without values and line numbers.

    >>> without_numbers("3 of 12 entries differ, the largest by 1.5e-3")
    '# of # entries differ, the largest by #'
    """
    return re.sub(r"[-+]?\d[\d.,e+-]*|nan|inf", "#", message)


def have_same_gradients(comparison: Comparison, other: Comparison, case: str | None) -> bool:
    """Return whether two runs of the case of this name have equal gradients and changed inputs."""
    results = [result for result in comparison.results if result.case.name == case]
    others = [result for result in other.results if result.case.name == case]
    if not results or not others:
        return False
    result, reply, other_reply = results[0], results[0].reply.first, others[0].reply.first
    if reply.changed != other_reply.changed:
        return False
    # A gradient that is zero, like that of the bias of the keys, is the rounding of the others.
    sizes = [_largest(others[0].tensor(index)) for index in other_reply.gradients.values()]
    dtype = result.case.dtype
    scale = max(result.expected.gradient_scale, max(sizes, default=0.0) * RELATIVE[dtype])
    for name in reply.gradients.keys() | other_reply.gradients.keys():
        value, other_value = result.gradient(name), others[0].gradient(name)
        if value is None or other_value is None:
            # A missing gradient equals a gradient of zeros: a part of a fused layer has zeros, and
            # a separate layer has no gradient.
            present = other_value if value is None else value
            is_same = present is None or not bool(present.any())
        else:
            is_same = is_equal(value, other_value, dtype, scale)
        if not is_same:
            return False
    return True


def _largest(value: Tensor | None) -> float:
    """Return the largest absolute entry that is a number; 0 without entries."""
    if value is None or value.numel() == 0:
        return 0.0
    return float(value.abs().nan_to_num(0.0, 0.0, 0.0).max())
