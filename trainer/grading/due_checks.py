"""Find the checks that are due in a challenge, and the cases that each check must look at."""

from __future__ import annotations

from collections.abc import Callable

from trainer.grading.comparison import Comparison
from trainer.grading.prepared_case import PreparedCase


def _has_due_values(check: str) -> Callable[[PreparedCase], bool]:
    return lambda prepared: prepared.case.check == check and prepared.case.dropout is None


# For each check: must the check look at this case before it can pass? A check that is not listed
# must look at all cases.
_Rule = Callable[[PreparedCase], bool]
_LOOKED_AT: dict[str, _Rule] = {
    "loads": lambda prepared: False,
    "interface": lambda prepared: False,
    "values": _has_due_values("values"),
    "masks": _has_due_values("masks"),
    "train/eval": lambda prepared: (
        prepared.case.check == "train/eval" or prepared.case.dropout is not None
    ),
    "gradients": lambda prepared: bool(prepared.expected.gradients),
    "properties": lambda prepared: not prepared.case.probe and prepared.case.dropout is None,
    # The outcome of the larger case of a growth probe counts for both cases.
    "vectorised": lambda prepared: (
        prepared.case.probe == "vectorised" and prepared.smaller is not None
    ),
    "memory": lambda prepared: prepared.case.probe == "memory" and prepared.case.limit is not None,
    "work": lambda prepared: prepared.case.probe == "work" and prepared.case.limit is not None,
}


def _is_any(prepared: PreparedCase) -> bool:
    return True


def due_cases(comparison: Comparison, check: str) -> set[int]:
    """Return the indices of the cases that a check must have looked at before it can pass."""
    is_looked_at = _LOOKED_AT.get(check, _is_any)
    return {
        index
        for index, prepared in enumerate(comparison.case_set.prepared)
        if comparison.only in (None, index) and is_looked_at(prepared)
    }


def is_due(comparison: Comparison, check: str) -> bool:
    """Return whether the graded cases of the challenge give this check something to look at."""
    case_set, only = comparison.case_set, comparison.only
    prepared = case_set.prepared if only is None else (case_set.prepared[only],)
    probes = {case.case.probe for case in prepared}
    match check:
        case "parameters":
            return case_set.challenge.kind == "module"
        case "values" | "masks" | "train/eval":
            return any(case.case.check == check for case in prepared)
        case "gradients":
            return any(case.differentiable for case in prepared)
        case "bad sizes":
            return bool(case_set.refusals) and only is None
        case "memory":
            return bool(probes & {"memory", "held"})
        case "vectorised":
            return check in probes and only is None
        case "work":
            return check in probes
    return True
