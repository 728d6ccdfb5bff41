"""Find two known mistakes that together behave exactly like a submission on all cases."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations, islice, permutations

import torch

from attn_drill.diagnosis.agreement import Agreement
from attn_drill.diagnosis.observed import numbers
from attn_drill.diagnosis.patched_references import Ids

_SOME = 2  # wrong cases in which changes are added
_MOST_RUN = 100_000  # operations of all pairs together
_MOST_CASES = 1200  # runs of a case for all mistakes and pairs together
_BUILD = 150  # building a patched reference takes as long as 150 operations


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
        if agreement.agrees(pair) and all(_matters(agreement, other) for other in pair):
            return pair
    return ()


def _matters(agreement: Agreement, other: str) -> bool:
    """Return whether one mistake of a pair alone fails to explain several cases.

    A difference in a single case may be chance.
    """
    enough = min(2, len(agreement.wrong_cases))
    unexplained = (
        observed
        for observed in agreement.observed_cases
        if not agreement.agrees_on((other,), observed)
    )
    return len(list(islice(unexplained, enough))) == enough


def _pairs(agreement: Agreement) -> Iterator[Ids]:
    """Yield pairs that may explain all cases, the most likely first, in an order that fits.

    Neither mistake changes a right case. In the first wrong case, either both mistakes change the
    result, or one mistake explains the result and the other does not change it.
    """
    first_wrong = agreement.wrong_cases[0]
    candidates = list(filter(agreement.may_be_part, agreement.references.mistakes))
    sufficient = {mistake for mistake in candidates if agreement.agrees_on((mistake,), first_wrong)}
    changing = {mistake for mistake in candidates if agreement.changes(mistake)} - sufficient
    if not sufficient:
        candidates = [mistake for mistake in candidates if mistake in changing]
    for pair in _most_additive(agreement, candidates):
        is_explained = len(sufficient.intersection(pair)) == 1 and changing.isdisjoint(pair)
        if is_explained or changing.issuperset(pair):
            yield from islice(filter(agreement.references.patched, permutations(pair)), 1)


def _most_additive(agreement: Agreement, candidates: list[str]) -> list[tuple[str, str]]:
    """Return all pairs, ordered by how well their changes add up to those of the submission.

    The change is the difference from the right outputs in a few wrong cases. Two changes seldom add
    up exactly, but the true pair is among the first pairs.
    """
    wrong = [case for case in agreement.wrong_cases if case.behaviour.failure is None]
    some = wrong[:: max(1, len(wrong) // _SOME)][:_SOME]
    behaviour = agreement.references.behaviour
    own = torch.cat([numbers(case.behaviour) for case in some])
    right, *others = (
        torch.cat([numbers(behaviour(ids, case.index)) for case in some])
        for ids in [(), *((mistake,) for mistake in candidates)]
    )
    pairs = list(combinations(range(len(candidates)), 2))
    if len(own) == len(right):
        change = own - right
        changes = [
            other - right if len(other) == len(right) else torch.zeros_like(right)
            for other in others
        ]
        pairs.sort(
            key=lambda pair: float((change - changes[pair[0]] - changes[pair[1]]).abs().sum())
        )
    return [(candidates[first], candidates[second]) for first, second in pairs]
