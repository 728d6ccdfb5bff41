"""Choose the case with wrong values that distinguishes possible causes best."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from torch import Tensor

from attn_drill.diagnosis.attention_weights import right_weights
from attn_drill.diagnosis.observed import Observed, coinciding_sizes
from attn_drill.diagnosis.patched_references import PatchedReferences
from attn_drill.grading.case_set import CaseSet
from attn_drill.model.report import Outcome

_MOST_CONSIDERED = 6  # cases whose worth is measured
_LONG = 120  # nodes; a longer graph takes longer to compare
PAST = "Lpast"  # the letter for the number of cached keys
_STEEP = 50.0  # a number that makes steep scores, whose small weights become 0
_EXPLAINED = 2.0  # factor of the worth of the case that the report explains


def most_informative_case(
    references: PatchedReferences,
    wrong: Sequence[Observed],
    first: Outcome,
    failed: Collection[int],
) -> int | None:
    """Return the index of the most informative case; None if no case can be compared.

    The report explains this case. So it is a failed case of the first failed check, if one of these
    can be compared. If a challenge has parts, a part uses the parts before it, so the case is one
    of the first wrong part.

    Args:
        references: the patched references.
        wrong: the cases with wrong results.
        first: the first failure.
        failed: the numbers, from 1, of all cases that fail the same check.
    """
    case_set = references.case_set
    found = [observed for observed in wrong if _can_be_compared(observed, case_set)]
    found = [observed for observed in found if observed.index + 1 in failed] or found
    found = [observed for observed in found if not observed.is_random] or found
    found = _of_first_part(found, case_set)

    def rank(observed: Observed) -> tuple[bool, int]:
        is_explained = first.number == observed.index + 1
        return not is_explained, coinciding_sizes(case_set.cases[observed.index])

    found.sort(key=rank)
    indices = [observed.index for observed in found]
    if indices and case_set.cases[indices[0]].plain:
        return indices[0]
    considered = indices[:_MOST_CONSIDERED]
    return max(considered, key=lambda index: _worth(references, index, first), default=None)


def case_of_the_mask(
    references: PatchedReferences, wrong: Sequence[Observed], telling: int | None
) -> int | None:
    """Return the index of the case in which the mask is read; None if no case shows it.

    A case of the check `masks` comes first, then a case with cached keys, then the telling case.

    Args:
        references: the patched references.
        wrong: the cases with wrong results.
        telling: the index of the most informative case.
    """
    case_set = references.case_set
    indices = [
        observed.index
        for observed in wrong
        if _can_be_compared(observed, case_set)
        and _is_finite(observed)
        and not observed.is_random
        and case_set.cases[observed.index].dropout is None
        and case_set.prepared[observed.index].largest_number <= _STEEP
    ]

    def rank(index: int) -> tuple[bool, bool, bool]:
        case = case_set.cases[index]
        return case.check != "masks", PAST not in case.sizes, index != telling

    considered = sorted(indices, key=rank)[:_MOST_CONSIDERED]
    return next((index for index in considered if _has_weights(references, index)), None)


def _has_weights(references: PatchedReferences, index: int) -> bool:
    """Return whether the reference makes attention weights in a case."""
    graph = references.graph(index, "lines")
    return graph is not None and bool(right_weights(graph))


def _of_first_part(found: list[Observed], case_set: CaseSet) -> list[Observed]:
    """Return the cases of the first part that has some."""
    for part in case_set.challenge.parts:
        if some := [each for each in found if case_set.cases[each.index].part == part]:
            return some
    return found


def _can_be_compared(observed: Observed, case_set: CaseSet) -> bool:
    if observed.behaviour.failure is not None or observed.dtype == "bfloat16":
        return False
    if case_set.cases[observed.index].probe is not None:
        return False
    values = [value for value in observed.behaviour.outputs.values() if isinstance(value, Tensor)]
    return not any(value.is_meta for value in values)


def _is_finite(observed: Observed) -> bool:
    """Return whether all entries of all outputs are finite."""
    values = [value for value in observed.behaviour.outputs.values() if isinstance(value, Tensor)]
    return all(bool(value.isfinite().all()) for value in values)


def _worth(references: PatchedReferences, index: int, first: Outcome) -> float:
    """Return the number of distinct results of the reference, reduced for long graphs."""
    graph = references.graph(index, "tensors")
    if graph is None:
        return -1.0
    leading = graph.leading_to_outputs  # leaves out random draws of a constructor
    different = set()
    for node in leading:
        if node.lines and node.features is not None:
            different.add(tuple(f"{figure:.4g}" for figure in node.features))
    worth = len(different) * min(1.0, _LONG / len(leading))
    if first.number == index + 1:
        worth *= _EXPLAINED
    return worth - 8 * coinciding_sizes(references.case_set.cases[index])
