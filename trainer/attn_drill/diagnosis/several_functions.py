"""Find the functions of a submission that are wrong.

A challenge of several functions has cases for each of them: the input `function` of a case names
the function that is called.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from attn_drill.diagnosis.agreement import Agreement
from attn_drill.diagnosis.observed import Observed
from attn_drill.grading.case_set import CaseSet


def function_of(case_set: CaseSet, index: int) -> str:
    """Return the function that a case calls, or "" if the challenge has no several functions."""
    name = case_set.cases[index].inputs.get("function")
    names = {signature.name for signature in case_set.content.signatures}
    return name if isinstance(name, str) and name in names else ""


def wrong_by_function(agreement: Agreement) -> Mapping[str, Sequence[Observed]]:
    """Return the cases with wrong results of every function, in the order of their evidence."""
    found: dict[str, list[Observed]] = {}
    for observed in agreement.wrong_cases:
        function = function_of(agreement.case_set, observed.index)
        if function:
            found.setdefault(function, []).append(observed)
    return found
