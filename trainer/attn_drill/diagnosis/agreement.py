"""Compare a submission with patched references, case by case."""

from __future__ import annotations

import re
from enum import IntEnum

from attn_drill.diagnosis.observed import (
    RELATIVE,
    Observed,
    are_equal,
    has_nan,
    has_same_shapes,
    observe,
)
from attn_drill.diagnosis.patched_references import FINITE_FILL, Behaviour, Ids, PatchedReferences
from attn_drill.grading.case_set import CaseSet
from attn_drill.grading.comparison import Comparison

_LOSSES = 8.0  # a difference of 8 times the loss of the dtype is still rounding


class Likeness(IntEnum):
    """How far a patched reference behaves like a submission in one case."""

    DIFFERENT = 0
    POSSIBLE = 1  # the case decides nothing: both draw at random, or rounding decides
    SAME = 2


class Agreement:
    """Decide which known mistakes behave like a submission.

    Attributes:
        observed_cases: the submission's behaviour on each case, the most informative cases first.
        wrong_cases: the cases in which a right answer gives another result.
        has_wrong_values: whether an output has a wrong value. An exception alone may have many
            reasons.
    """

    def __init__(self, references: PatchedReferences, comparison: Comparison) -> None:
        self.references, self.comparison = references, comparison
        self.observed_cases = observe(comparison)
        self.wrong_cases = [observed for observed in self.observed_cases if observed.is_wrong]
        self.has_wrong_values = any(
            observed.behaviour.failure is None for observed in self.wrong_cases
        )

    @property
    def case_set(self) -> CaseSet:
        return self.comparison.case_set

    def agrees(self, ids: Ids) -> bool:
        """Return whether mistakes may explain all cases, and not only by chance.

        If no key is left to attend to, a fill of -inf gives NaN and a finite fill gives numbers. If
        only one of both has NaN, the reference is tried with a finite fill, too.
        """
        disagreeing = self._disagreeing(ids)
        if disagreeing is not None:
            other = self.references.behaviour(ids, disagreeing.index)
            if has_nan(other) == has_nan(disagreeing.behaviour):
                return False
            ids = (*ids, FINITE_FILL)
            if self.references.patched(ids) is None or self._disagreeing(ids) is not None:
                return False
        wrong = self.wrong_cases
        return not wrong or any(self.match(ids, each) is Likeness.SAME for each in wrong)

    def _disagreeing(self, ids: Ids) -> Observed | None:
        """Return the first case that mistakes cannot explain; None if there is none."""
        for observed in self.observed_cases:
            if not self.agrees_on(ids, observed):
                return observed
        return None

    def agrees_on(self, ids: Ids, observed: Observed) -> bool:
        return self.match(ids, observed) is not Likeness.DIFFERENT

    def match(self, ids: Ids, observed: Observed) -> Likeness:
        """Return how far mistakes behave like the submission on a case, up to rounding."""
        behaviour, other = observed.behaviour, self.references.behaviour(ids, observed.index)
        if self.is_like(observed, other):
            return Likeness.SAME
        if other is None or other.failure is not None or behaviour.failure is not None:
            return Likeness.DIFFERENT
        have_same_shapes = has_same_shapes(behaviour, other)
        if observed.is_random:  # another style may draw in another order
            return Likeness.POSSIBLE if other.draws and have_same_shapes else Likeness.DIFFERENT
        if not observed.is_wrong or self.is_right(ids, observed.index):
            return Likeness.DIFFERENT
        if observed.is_extreme:
            return Likeness.SAME
        # A wrong formula may divide by sums near zero. Then rounding decides in bfloat16.
        is_coarse = observed.dtype == "bfloat16"
        if (
            is_coarse
            and have_same_shapes
            and {each.dtype for each in self.wrong_cases} != {"bfloat16"}
        ):
            return Likeness.POSSIBLE
        return Likeness.DIFFERENT

    def is_like(self, observed: Observed, other: Behaviour | None) -> bool:
        """Return whether the submission has the other behaviour on a case, up to rounding."""
        behaviour = observed.behaviour
        if other is None or (behaviour.failure is None) != (other.failure is None):
            return False
        if behaviour.failure is not None:
            return True
        if behaviour.outputs.keys() != other.outputs.keys():
            return False
        # Float32 may lose more than usual, for example in tables of large positions.
        expected = self.case_set.prepared[observed.index].expected.outputs
        factor = _LOSSES / RELATIVE[observed.dtype]
        scales = {name: factor * output.lost for name, output in expected.items()}
        return are_equal(behaviour.outputs, other.outputs, observed.dtype, scales)

    def is_right(self, ids: Ids, index: int) -> bool:
        """Return whether the reference with these mistakes is right on a case."""
        right, other = self.references.behaviour((), index), self.references.behaviour(ids, index)
        if right is None or other is None or other.failure is not None:
            return False
        return are_equal(right.outputs, other.outputs, self.case_set.cases[index].dtype)

    def raises_the_same(self, ids: Ids) -> bool:
        """Return whether mistakes raise the submission's exceptions in all its wrong cases."""
        for observed in self.wrong_cases:
            other = self.references.behaviour(ids, observed.index)
            if in_any_order(other) != in_any_order(observed.behaviour):
                return False
        return True


def in_any_order(behaviour: Behaviour | None) -> tuple[str, list[str]] | None:
    """Return a failure as its words without numbers, and its sorted numbers; None if none.

    The operands of an operation may be in another order, and so may their sizes in the message.
    """
    if behaviour is None or behaviour.failure is None:
        return None
    numbers = re.findall(r"\d+", behaviour.failure)
    return re.sub(r"\d+", "", behaviour.failure), sorted(numbers)
