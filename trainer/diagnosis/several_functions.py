"""Find independent mistakes in several functions of a submission.

A challenge of several functions has cases for each of them: the input `function` of a case names
the function that is called.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice, permutations, product

from trainer.diagnosis.agreement import Agreement
from trainer.diagnosis.observed import Observed
from trainer.diagnosis.patched_references import Ids
from trainer.grading.case_set import CaseSet

_MOST_FUNCTIONS = 4
_MOST_COMBINATIONS = 24


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


def mistakes_of_functions(agreement: Agreement) -> Ids:
    """Return the mistakes, one for each wrong function, that together explain all cases.

    Returns () if fewer than three functions or mistakes are involved, because two mistakes are
    found by the search for pairs, or if no combination or several combinations explain all cases.
    """
    wrong = wrong_by_function(agreement)
    if not 2 < len(wrong) <= _MOST_FUNCTIONS:
        return ()
    candidates = [list(_candidates(agreement, function)) for function in wrong]
    if not all(candidates):
        return ()
    found: set[frozenset[str]] = set()
    agreeing: list[Ids] = []
    for combination in islice(product(*candidates), _MOST_COMBINATIONS):
        members = frozenset(combination)
        if len(members) < 3 or members in found:
            continue
        found.add(members)
        orders = filter(agreement.references.patched, permutations(sorted(members)))
        agreeing += [ids for ids in islice(orders, 1) if agreement.agrees(ids)]
    return agreeing[0] if len(agreeing) == 1 else ()


def _candidates(agreement: Agreement, function: str) -> Iterator[str]:
    """Yield the mistakes that agree with all cases of a function."""
    cases = [
        observed
        for observed in agreement.observed_cases
        if function_of(agreement.case_set, observed.index) == function
    ]
    for mistake in agreement.references.mistakes:
        if all(agreement.agrees_on((mistake,), observed) for observed in cases):
            yield mistake
