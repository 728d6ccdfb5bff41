"""Compare a submission with patched references, case by case."""

from __future__ import annotations

import re
import statistics
from functools import cached_property

import torch
from torch import Tensor

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

_LOSSES = 8.0  # a difference of 8 times the loss of the dtype is still rounding
# For the comparison of random outputs.
_COMPARED_CASES, _DRAWS, _LEAST_NUMBERS = 6, 8, 8
_RANDOM_CASES = 2  # cases of each mode in which a mistake is tried for random draws


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
        self._modes: dict[Ids, set[str]] = {}
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
        """Return whether mistakes agree with all cases, in some style of the reference."""
        disagreeing = next(
            (observed for observed in self.observed_cases if not self.agrees_on(ids, observed)),
            None,
        )
        if disagreeing is None:
            return True
        if disagreeing.is_random:
            return False
        # Try other styles only if they can differ. If no key is left to attend to, some styles give
        # NaN and others numbers. At a limit, rounding decides.
        reference_behaviour = self.references.behaviour(ids, disagreeing.index)
        if (
            disagreeing is self.observed_cases[0]
            and not has_nan(reference_behaviour)
            and not has_nan(disagreeing.behaviour)
        ):
            return False
        for styled in self.references.styles(ids):
            if all(self.agrees_on(styled, observed) for observed in self.observed_cases):
                return True
        return False

    def agrees_on(self, ids: Ids, observed: Observed) -> bool:
        """Return whether mistakes behave like the submission on a case, up to rounding."""
        other = self.references.behaviour(ids, observed.index)
        if self.is_like(observed, other):
            return True
        if other is None or other.failure is not None:
            return False
        if observed.is_extreme and observed.is_wrong and observed.behaviour.failure is None:
            return not self.is_right(ids, observed.index)
        if not observed.is_random or not has_same_shapes(observed.behaviour, other):
            return False
        case = self.case_set.cases[observed.index]
        if self.is_right(ids, observed.index) == observed.is_wrong and case.dropout is None:
            return False
        is_random = self.references.is_random(ids, observed.index)
        return is_random or case.mode in self._random_modes(ids)

    def draws_alike(self, ids: Ids) -> bool:
        """Return whether random outputs of the submission resemble those of the mistakes.

        Random outputs of the same shape prove nothing: a tensor of noise is not a tensor with
        dropout. Noise has no correlation with the mean of many draws.
        """
        random = [own for own in self.wrong_cases if own.is_random and not own.is_extreme]
        correlations, usual = [], []
        for observed in random[:_COMPARED_CASES]:
            draws = [
                _numbers(self.references.draw(ids, observed.index, number))
                for number in range(_DRAWS)
            ]
            own = _numbers(observed.behaviour)
            if len({len(values) for values in (own, *draws)}) > 1 or len(own) < _LEAST_NUMBERS:
                continue
            correlations.append(_correlation(own, torch.stack(draws).mean(0)))
            usual += [
                _correlation(draw, torch.stack(draws[:number] + draws[number + 1 :]).mean(0))
                for number, draw in enumerate(draws)
            ]
        if not usual:
            return True
        return statistics.fmean(correlations) >= statistics.fmean(usual) / 2

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

    def _random_modes(self, ids: Ids) -> set[str]:
        """Return the modes in which a second call with these mistakes gives other values.

        Only the first cases in which the submission is random are tried.
        """
        if ids not in self._modes:
            cases = self.case_set.cases
            random = [observed.index for observed in self.observed_cases if observed.is_random]
            found: set[str] = set()
            for mode in ("eval", "train"):
                tried = [index for index in random if cases[index].mode == mode][:_RANDOM_CASES]
                if any(self.references.is_random(ids, index) for index in tried):
                    found.add(mode)
            self._modes[ids] = found
        return self._modes[ids]


def _numbers(behaviour: Behaviour | None) -> Tensor:
    """Return all finite numbers of the outputs as float64, or no number if one is not finite."""
    outputs = {} if behaviour is None else behaviour.outputs
    values = [
        value.detach().to(torch.float64).flatten()
        for _, value in sorted(outputs.items())
        if isinstance(value, Tensor) and value.is_floating_point() and not value.is_meta
    ]
    joined = torch.cat(values) if values else torch.zeros(0, dtype=torch.float64)
    return joined if bool(joined.isfinite().all()) else joined[:0]


def _correlation(values: Tensor, others: Tensor) -> float:
    """Return the correlation of two vectors; 0 if one of them is constant."""
    values, others = values - values.mean(), others - others.mean()
    norms = float(values.norm() * others.norm())
    return float(values @ others) / norms if norms else 0.0


def _in_any_order(behaviour: Behaviour | None) -> tuple[str, list[str]] | None:
    """Return a failure as its words without numbers, and its sorted numbers; None if none."""
    if behaviour is None or behaviour.failure is None:
        return None
    words = re.sub(r"\d+", "", behaviour.failure)
    return words, sorted(re.findall(r"\d+", behaviour.failure))
