"""Find two known mistakes that together behave exactly like a submission on all cases."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, islice, permutations

import torch
from torch import Tensor

from attn_drill.diagnosis.agreement import Agreement
from attn_drill.diagnosis.patched_references import Behaviour, Ids

_SOME = 2  # wrong cases in which changes are added
_MOST_RUN = 100_000  # operations of all pairs together
_MOST_CASES = 1200  # runs of a case for all mistakes and pairs together
_BUILD = 150  # building a patched reference takes as long as 150 operations
_LARGEST = 1e6  # of the entries that are added


def find_pair(agreement: Agreement, operations: int) -> Ids:
    """Return the first two mistakes that together agree with all cases; () if none do.

    Args:
        agreement: compares the submission with patched references.
        operations: the number of operations of the reference in a case. It limits the number
            of pairs that are tried.
    """
    before = agreement.references.case_count
    for pair in islice(_pairs(agreement), _MOST_RUN // (_BUILD + operations)):
        if agreement.references.case_count - before > _MOST_CASES:
            break
        if agreement.agrees(pair) and all(_leaves_some(agreement, mistake) for mistake in pair):
            return pair
    return ()


def _leaves_some(agreement: Agreement, mistake: str) -> bool:
    """Return whether one mistake of a pair alone fails to explain several cases.

    A difference in a single case may be chance.
    """
    enough = min(2, len(agreement.wrong_cases))
    unexplained = (
        observed
        for observed in agreement.observed_cases
        if not agreement.agrees_on((mistake,), observed)
    )
    return len(list(islice(unexplained, enough))) == enough


def _pairs(agreement: Agreement) -> Iterator[Ids]:
    """Yield pairs that may explain all cases, the most likely first, in an order that fits.

    Neither mistake changes a right case. In the first wrong case, either both mistakes change the
    result, or one mistake explains the result and the other does not change it.
    """
    references, first_wrong = agreement.references, agreement.wrong_cases[0]
    candidates = list(references.mistakes)
    for observed in agreement.observed_cases:
        if not observed.is_wrong and not observed.is_random:  # one right case is enough
            candidates = [each for each in candidates if agreement.agrees_on((each,), observed)]
            break
    sufficient = {each for each in candidates if agreement.agrees_on((each,), first_wrong)}
    changing = {each for each in candidates if not agreement.is_right((each,), first_wrong.index)}
    changing -= sufficient
    if not sufficient:
        candidates = [each for each in candidates if each in changing]
    for pair in _most_additive(agreement, candidates):
        is_explained = len(sufficient.intersection(pair)) == 1 and changing.isdisjoint(pair)
        if is_explained or changing.issuperset(pair):
            yield from islice(filter(references.patched, permutations(pair)), 1)


def _most_additive(agreement: Agreement, candidates: list[str]) -> list[tuple[str, str]]:
    """Return all pairs, ordered by how well their changes add up to those of the submission.

    The change is the difference from the right outputs in a few wrong cases. Two changes seldom add
    up exactly, but the true pair is among the first pairs.
    """
    wrong = [case for case in agreement.wrong_cases if case.behaviour.failure is None]
    some = wrong[:: max(1, len(wrong) // _SOME)][:_SOME]

    def numbers(*ids: str) -> Tensor:
        behaviours = [agreement.references.behaviour(ids, case.index) for case in some]
        return torch.cat([_numbers(behaviour) for behaviour in behaviours])

    right = numbers()
    pairs = list(combinations(candidates, 2))
    change = torch.cat([_numbers(case.behaviour) for case in some])
    if len(change) != len(right):
        return pairs
    change -= right
    changes: dict[str, Tensor] = {}
    for mistake in candidates:
        other = numbers(mistake)
        changes[mistake] = other - right if len(other) == len(right) else torch.zeros_like(right)
    pairs.sort(key=lambda pair: float((change - changes[pair[0]] - changes[pair[1]]).abs().sum()))
    return pairs


def _numbers(behaviour: Behaviour | None) -> Tensor:
    """Return all entries of the outputs as float64, within limits that leave room for a sum."""
    outputs = {} if behaviour is None else behaviour.outputs
    values = [
        value.to(torch.float64).flatten().nan_to_num(0.0).clamp(-_LARGEST, _LARGEST)
        for _, value in sorted(outputs.items())
        if isinstance(value, Tensor) and not value.is_meta
    ]
    return torch.cat(values) if values else torch.zeros(0, dtype=torch.float64)
