"""Choose the case with wrong values that distinguishes possible causes best."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from torch import Tensor

from attn_drill.diagnosis._attention_weights import PAST, right_weights
from attn_drill.diagnosis._behaviour import Observed, coinciding_sizes
from attn_drill.diagnosis.patched_references import PatchedReferences
from attn_drill.grading.case_set import CaseSet
from attn_drill.model.report import Outcome

_MOST_CONSIDERED = 6
_LONG = 120  # nodes; a longer graph takes longer to compare
# A number that makes steep scores, whose small weights become 0.
_STEEP = 50.0
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
    of the first wrong part. The numbers in `failed` are those of all cases that fail the check.
    """
    case_set = references.case_set
    parts = case_set.challenge.parts

    def preference(observed: Observed) -> tuple[bool, bool, int]:
        part = case_set.cases[observed.index].part
        place = parts.index(part) if part in parts else len(parts)
        return observed.index + 1 not in failed, observed.is_random, place

    comparable = [observed for observed in wrong if _values_of(observed, case_set) is not None]
    best = min(map(preference, comparable), default=None)
    candidates = [observed for observed in comparable if preference(observed) == best]

    def rank(index: int) -> tuple[bool, int]:
        return first.number != index + 1, coinciding_sizes(case_set.cases[index])

    def worth(index: int) -> float:
        """Return the number of distinct results of the reference, reduced for long graphs."""
        graph = references.graph((), index, "tensors")
        if graph is None:
            return -1.0
        leading = graph.leading_to_outputs  # leaves out random draws of a constructor
        figures = [node.features for node in leading if node.lines and node.features is not None]
        different = {tuple(f"{figure:.4g}" for figure in each) for each in figures}
        share = min(1.0, _LONG / len(leading)) * (_EXPLAINED if first.number == index + 1 else 1.0)
        return len(different) * share - 8 * coinciding_sizes(case_set.cases[index])

    indices = sorted((observed.index for observed in candidates), key=rank)
    if indices and case_set.cases[indices[0]].plain:
        return indices[0]
    return max(indices[:_MOST_CONSIDERED], key=worth, default=None)


def case_of_the_mask(
    references: PatchedReferences, wrong: Sequence[Observed], telling: int | None
) -> int | None:
    """Return the index of the case in which the mask is read; None if no case shows it.

    A case of the check `masks` comes first, then a case with cached keys, then the most informative
    case, whose index is `telling`.
    """
    case_set = references.case_set
    indices = []
    for observed in wrong:
        values = _values_of(observed, case_set)
        if values is None or not all(bool(value.isfinite().all()) for value in values):
            continue
        is_drawn = observed.is_random or case_set.cases[observed.index].dropout is not None
        is_steep = case_set.prepared[observed.index].largest_number > _STEEP
        if not is_drawn and not is_steep:
            indices.append(observed.index)

    def rank(index: int) -> tuple[bool, bool, bool]:
        case = case_set.cases[index]
        return case.check != "masks", PAST not in case.sizes, index != telling

    for index in sorted(indices, key=rank)[:_MOST_CONSIDERED]:
        graph = references.graph((), index)
        if graph is not None and right_weights(graph):
            return index
    return None


def _values_of(observed: Observed, case_set: CaseSet) -> list[Tensor] | None:
    """Return the outputs that are tensors; None if a recorded run cannot be compared."""
    is_counted = case_set.cases[observed.index].probe is not None
    if observed.behaviour.failure is not None or observed.dtype == "bfloat16" or is_counted:
        return None
    values = [value for value in observed.behaviour.outputs.values() if isinstance(value, Tensor)]
    return None if any(value.is_meta for value in values) else values
