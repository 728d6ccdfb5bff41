"""Choose the case with wrong values that tells one cause from another best."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from trainer.diagnosis.observed import Observed, coincidences
from trainer.diagnosis.patched_references import PatchedReferences
from trainer.grading.case_set import CaseSet
from trainer.model.report import Outcome

_MOST_CONSIDERED = 6  # cases whose worth is measured
_LONG = 120  # nodes; a longer way to the outputs takes longer to compare
_EXPLAINED = 1.25  # times the worth, for the case that the report explains


def most_telling(
    references: PatchedReferences, wrong: Sequence[Observed], first: Outcome
) -> int | None:
    """Return the index of the case that tells most; None if no case does.

    Args:
        wrong: the cases with wrong results.
        first: the failure that the report explains.
    """
    case_set = references.case_set
    found = [seen for seen in wrong if _can_be_compared(seen, case_set)]
    found = [seen for seen in found if not seen.is_random] or found

    def rank(seen: Observed) -> tuple[bool, int]:
        is_explained = first.number == seen.index + 1
        return not is_explained, coincidences(case_set.cases[seen.index])

    found.sort(key=rank)
    indices = [seen.index for seen in found]
    if indices and case_set.cases[indices[0]].plain:
        return max(indices, key=lambda index: _worth_of_numbers(references, index))
    considered = indices[:_MOST_CONSIDERED]
    return max(considered, key=lambda index: _worth(references, index, first), default=None)


def _can_be_compared(seen: Observed, case_set: CaseSet) -> bool:
    if seen.behaviour.failure is not None or seen.dtype == "bfloat16":
        return False
    if case_set.cases[seen.index].probe is not None:
        return False
    values = [value for value in seen.behaviour.outputs.values() if isinstance(value, Tensor)]
    return not any(value.is_meta for value in values)


def _worth_of_numbers(references: PatchedReferences, index: int) -> int:
    """Return how many different numbers the reference computes, less those it computes twice."""
    graph = references.graph(index, "lines")
    if graph is None:
        return 0
    scalars = [node.scalar for node in graph.nodes if node.is_number and len(node.parents) > 1]
    return 2 * len(set(scalars)) - len(scalars)


def _worth(references: PatchedReferences, index: int, first: Outcome) -> float:
    """Return how many different results the reference makes; a long way counts less."""
    graph = references.graph(index, "tensors")
    if graph is None:
        return -1.0
    leading = graph.leading_to_outputs  # random draws of a constructor lead nowhere
    different = set()
    for node in leading:
        if node.lines and node.features is not None:
            different.add(tuple(f"{figure:.4g}" for figure in node.features))
    worth = len(different) * min(1.0, _LONG / len(leading))
    if first.number == index + 1:
        worth *= _EXPLAINED
    return worth - 8 * coincidences(references.case_set.cases[index])
