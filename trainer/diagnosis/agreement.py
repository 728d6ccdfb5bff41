"""Compare a submission with patched references, case by case."""

from __future__ import annotations

from functools import cached_property

from trainer.diagnosis.observed import (
    RELATIVE,
    Observed,
    are_equal,
    has_nan,
    has_same_shapes,
    observe,
)
from trainer.diagnosis.patched_references import Behaviour, Ids, PatchedReferences
from trainer.grading.case_set import CaseSet
from trainer.grading.comparison import Comparison

_LOSSES = 8.0  # times what the dtype loses is still rounding
_RANDOM_CASES = 2  # of each mode, in which a mistake is tried for random draws


class Agreement:
    """Tell which known mistakes behave like a submission.

    seen   the submission's behaviour on each case, the most telling cases first
    wrong  the cases in which a right answer gives something else
    """

    def __init__(self, references: PatchedReferences, comparison: Comparison) -> None:
        self.references, self.comparison = references, comparison
        self.seen = observe(comparison)
        self.wrong = [seen for seen in self.seen if seen.is_wrong]
        self._modes: dict[Ids, set[str]] = {}
        self._parts: dict[str, bool] = {}

    @property
    def case_set(self) -> CaseSet:
        """The cases on which both are compared."""
        return self.comparison.case_set

    @cached_property
    def has_wrong_values(self) -> bool:
        """Whether a wrong value came out. Exceptions alone may have many reasons."""
        return any(seen.behaviour.failure is None for seen in self.wrong)

    def agrees(self, ids: Ids) -> bool:
        """Return whether mistakes agree with everything, in some style of the reference."""
        odd = next((seen for seen in self.seen if not self.agrees_on(ids, seen)), None)
        if odd is None:
            return True
        if odd.is_random:
            return False
        # Another style may tell more. If there is no key left to attend to, one style gives NaN and
        # another numbers, and rounding decides at a limit.
        theirs = self.references.behaviour(ids, odd.index)
        if odd is self.seen[0] and not has_nan(theirs) and not has_nan(odd.behaviour):
            return False
        for styled in self.references.styles(ids):
            if all(self.agrees_on(styled, seen) for seen in self.seen):
                return True
        return False

    def agrees_on(self, ids: Ids, seen: Observed) -> bool:
        """Return whether mistakes behave like the submission on a case, up to rounding."""
        other = self.references.behaviour(ids, seen.index)
        if self.is_like(seen, other):
            return True
        if other is None or other.failure is not None:
            return False
        if seen.is_extreme and seen.is_wrong and seen.behaviour.failure is None:
            return not self.is_right(ids, seen.index)
        if not seen.is_random or not has_same_shapes(seen.behaviour, other):
            return False
        case = self.case_set.cases[seen.index]
        if self.is_right(ids, seen.index) == seen.is_wrong and case.dropout is None:
            return False
        is_random = self.references.is_random(ids, seen.index)
        return is_random or case.mode in self._random_modes(ids)

    def is_like(self, seen: Observed, other: Behaviour | None) -> bool:
        """Return whether the submission behaves like this on a case, up to rounding."""
        mine = seen.behaviour
        if other is None or (mine.failure is None) != (other.failure is None):
            return False
        if mine.failure is not None:
            return True
        if mine.outputs.keys() != other.outputs.keys():
            return False
        # Float32 may lose more than usual, for example in tables of large positions.
        expected = self.case_set.prepared[seen.index].expected.outputs
        factor = _LOSSES / RELATIVE[seen.dtype]
        scales = {name: factor * want.lost for name, want in expected.items()}
        return are_equal(mine.outputs, other.outputs, seen.dtype, scales)

    def is_right(self, ids: Ids, index: int) -> bool:
        """Return whether the reference with these mistakes is right on a case."""
        right, other = self.references.behaviour((), index), self.references.behaviour(ids, index)
        if right is None or other is None or other.failure is not None:
            return False
        return are_equal(right.outputs, other.outputs, self.case_set.cases[index].dtype)

    def changes(self, mistake: str) -> bool:
        """Return whether a mistake changes the first case with wrong values."""
        return bool(self.wrong) and not self.is_right((mistake,), self.wrong[0].index)

    def may_be_part(self, mistake: str) -> bool:
        """Return whether a mistake changes nothing in a right case, so it may be one of two."""
        if mistake not in self._parts:
            right = [seen for seen in self.seen if not seen.is_wrong and not seen.is_random][:1]
            self._parts[mistake] = all(self.agrees_on((mistake,), seen) for seen in right)
        return self._parts[mistake]

    def raises_the_same(self, ids: Ids) -> bool:
        """Return whether mistakes raise what the submission raises in all its wrong cases."""
        for seen in self.wrong:
            behaviour = self.references.behaviour(ids, seen.index)
            if (behaviour.failure if behaviour else None) != seen.behaviour.failure:
                return False
        return True

    def _random_modes(self, ids: Ids) -> set[str]:
        """Return the modes in which another call of a mistake gives other values.

        The first cases in which the submission is random are tried.
        """
        if ids not in self._modes:
            cases = self.case_set.cases
            random = [seen.index for seen in self.seen if seen.is_random]
            found: set[str] = set()
            for mode in ("eval", "train"):
                tried = [index for index in random if cases[index].mode == mode][:_RANDOM_CASES]
                if any(self.references.is_random(ids, index) for index in tried):
                    found.add(mode)
            self._modes[ids] = found
        return self._modes[ids]
