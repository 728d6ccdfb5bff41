"""Compare a submission with patched references, case by case."""

from __future__ import annotations

import re
from collections.abc import Sequence
from enum import IntEnum
from functools import cached_property

from attn_drill.diagnosis.observed import (
    RELATIVE,
    Observed,
    are_equal,
    has_nan,
    has_same_shapes,
    is_equal,
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
    """

    def __init__(self, references: PatchedReferences, comparison: Comparison) -> None:
        self.references, self.comparison = references, comparison
        self.observed_cases = observe(comparison)
        self.wrong_cases = [observed for observed in self.observed_cases if observed.is_wrong]
        self._parts: dict[str, bool] = {}

    @property
    def case_set(self) -> CaseSet:
        """The cases on which submission and references are compared."""
        return self.comparison.case_set

    @cached_property
    def has_wrong_values(self) -> bool:
        """True if an output has a wrong value. An exception alone may have many reasons."""
        return any(observed.behaviour.failure is None for observed in self.wrong_cases)

    def agrees(self, ids: Ids) -> bool:
        """Return whether mistakes may explain all cases, and not only by chance.

        If no key is left to attend to, a fill of -inf gives NaN and a finite fill gives numbers. If
        only one of both has NaN, the reference is tried with a finite fill, too.
        """
        disagreeing = self._disagreeing(ids)
        if disagreeing is not None:
            if has_nan(self.references.behaviour(ids, disagreeing.index)) == has_nan(
                disagreeing.behaviour
            ):
                return False
            ids = (*ids, FINITE_FILL)
            if self.references.patched(ids) is None or self._disagreeing(ids) is not None:
                return False
        wrong = self.wrong_cases
        return not wrong or any(self.match(ids, each) is Likeness.SAME for each in wrong)

    def _disagreeing(self, ids: Ids) -> Observed | None:
        """Return the first case that mistakes cannot explain; None if there is none."""
        cases = self.observed_cases
        return next((observed for observed in cases if not self.agrees_on(ids, observed)), None)

    def closest(self, candidates: Sequence[Ids]) -> list[Ids]:
        """Return the candidates with the most outputs that are equal to those of the submission."""
        counts = [self._equal_outputs(ids) for ids in candidates]
        most = max(counts, default=0)
        return [ids for ids, count in zip(candidates, counts, strict=True) if count == most]

    def _equal_outputs(self, ids: Ids) -> int:
        """Return how many outputs of all cases are equal, up to rounding."""
        count = 0
        for observed in self.observed_cases:
            other = self.references.behaviour(ids, observed.index)
            for name, value in observed.behaviour.outputs.items():
                found = None if other is None else other.outputs.get(name)
                count += is_equal(value, found, observed.dtype)
        return count

    def agrees_on(self, ids: Ids, observed: Observed) -> bool:
        """Return whether mistakes may explain a case."""
        return self.match(ids, observed) is not Likeness.DIFFERENT

    def match(self, ids: Ids, observed: Observed) -> Likeness:
        """Return how far mistakes behave like the submission on a case, up to rounding."""
        own, other = observed.behaviour, self.references.behaviour(ids, observed.index)
        if self.is_like(observed, other):
            return Likeness.SAME
        if other is None or other.failure is not None or own.failure is not None:
            return Likeness.DIFFERENT
        if observed.is_random:  # another style may draw in another order
            may_match = other.draws and has_same_shapes(own, other)
            return Likeness.POSSIBLE if may_match else Likeness.DIFFERENT
        is_wrong = observed.is_wrong and not self.is_right(ids, observed.index)
        if is_wrong and observed.is_extreme:
            return Likeness.SAME
        if is_wrong and self._rounds(observed) and has_same_shapes(own, other):
            return Likeness.POSSIBLE
        return Likeness.DIFFERENT

    def _rounds(self, observed: Observed) -> bool:
        """Return whether rounding may decide a wrong result: in bfloat16, if others are wrong too.

        A wrong formula may divide by sums near zero.
        """
        dtypes = {wrong.dtype for wrong in self.wrong_cases}
        return observed.dtype == "bfloat16" and dtypes != {"bfloat16"}

    def is_like(self, observed: Observed, other: Behaviour | None) -> bool:
        """Return whether the submission has the other behaviour on a case, up to rounding."""
        own = observed.behaviour
        if other is None or (own.failure is None) != (other.failure is None):
            return False
        if own.failure is not None:
            return True
        if own.outputs.keys() != other.outputs.keys():
            return False
        # Float32 may lose more than usual, for example in tables of large positions.
        expected = self.case_set.prepared[observed.index].expected.outputs
        factor = _LOSSES / RELATIVE[observed.dtype]
        scales = {name: factor * output.lost for name, output in expected.items()}
        return are_equal(own.outputs, other.outputs, observed.dtype, scales)

    def is_right(self, ids: Ids, index: int) -> bool:
        """Return whether the reference with these mistakes is right on a case."""
        right, other = self.references.behaviour((), index), self.references.behaviour(ids, index)
        if right is None or other is None or other.failure is not None:
            return False
        return are_equal(right.outputs, other.outputs, self.case_set.cases[index].dtype)

    def changes(self, mistake: str) -> bool:
        """Return whether a mistake changes the first case with wrong values."""
        return bool(self.wrong_cases) and not self.is_right((mistake,), self.wrong_cases[0].index)

    def may_be_part(self, mistake: str) -> bool:
        """Return whether a mistake may belong to a pair: it changes nothing in a right case."""
        if mistake not in self._parts:
            right = [
                observed
                for observed in self.observed_cases
                if not observed.is_wrong and not observed.is_random
            ][:1]
            self._parts[mistake] = all(self.agrees_on((mistake,), observed) for observed in right)
        return self._parts[mistake]

    def raises_the_same(self, ids: Ids) -> bool:
        """Return whether mistakes raise the submission's exceptions in all its wrong cases.

        The operands of an operation may be in another order, so only the numbers of a message
        must be the same.
        """
        for observed in self.wrong_cases:
            behaviour = self.references.behaviour(ids, observed.index)
            if _in_any_order(behaviour) != _in_any_order(observed.behaviour):
                return False
        return True


def _in_any_order(behaviour: Behaviour | None) -> tuple[str, list[str]] | None:
    """Return a failure as its words without numbers, and its sorted numbers; None if none."""
    if behaviour is None or behaviour.failure is None:
        return None
    words = re.sub(r"\d+", "", behaviour.failure)
    return words, sorted(re.findall(r"\d+", behaviour.failure))
