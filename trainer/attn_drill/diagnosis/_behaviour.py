"""Record the behaviour of a submission on each case, and compare behaviours up to rounding."""

from __future__ import annotations

import copy
import math
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import IntEnum

import torch
from torch import Tensor

from attn_drill.diagnosis.patched_references import FINITE_FILL, Behaviour, Ids, PatchedReferences
from attn_drill.grading.comparison import CaseResult, Comparison, Returns
from attn_drill.model.case import Case
from attn_drill.worker.protocol import DTYPES
from attn_drill.worker.returns import as_tuple

# Two computations of the same wrong function differ by rounding, at most by this share of the
# largest entry.
RELATIVE = {"float64": 1e-4, "float32": 1e-3, "bfloat16": 4e-2}
_EXTREME = 1e9


@dataclass(frozen=True)
class Observed:
    """The behaviour of a submission in one case."""

    index: int
    dtype: str
    behaviour: Behaviour  # outputs or exception
    # Another call on the same inputs gives other values.
    is_random: bool
    is_repeated: bool  # whether there was another call on the same inputs
    is_wrong: bool
    # The result differs from the right result by more than rounding, so the case can distinguish a
    # known mistake from a right answer.
    is_clear: bool
    # The inputs are so large that rounding decides the result of a wrong formula.
    is_extreme: bool


def observe(comparison: Comparison) -> list[Observed]:
    """Return the observed behaviour of every case that ran, the most informative cases first.

    Cases with wrong values come first, because they distinguish mistakes best.
    """
    cases = comparison.case_set.cases
    observed_cases = [
        _observed(result) for result in comparison.results if not result.reply.unassigned
    ]
    # A random draw may change nothing, and a counted case has a single call. So a submission that
    # is random in one case counts as random in all cases of this mode.
    modes = {cases[observed.index].mode for observed in observed_cases if observed.is_random}

    def rank(observed: Observed) -> tuple[bool, bool, bool, bool, int]:
        case = cases[observed.index]
        return (
            not observed.is_wrong,
            observed.behaviour.failure is not None,
            not observed.is_clear,
            observed.dtype == "bfloat16" or case.probe is not None,
            coinciding_sizes(case),
        )

    return sorted(
        (
            replace(observed, is_random=cases[observed.index].mode in modes)
            for observed in observed_cases
        ),
        key=rank,
    )


def coinciding_sizes(case: Case) -> int:
    """Return how many sizes of a case are 1 or equal another size."""
    sizes = dict(case.sizes)
    if sizes.get("Hkv"):
        sizes["G"] = sizes.get("H", 0) // sizes["Hkv"]
    return len(sizes) - len({size for size in sizes.values() if size > 1})


def _observed(result: CaseResult) -> Observed:
    """Return the behaviour in one case; `is_random` is only of this case."""
    reply, dtype = result.reply, result.case.dtype
    is_extreme = result.prepared.largest_number > _EXTREME
    failure = reply.failure
    if failure is not None and failure.phase != "forward with gradients":
        behaviour = Behaviour(f"{failure.type}: {failure.message}", {})
        return Observed(result.index, dtype, behaviour, False, False, True, True, is_extreme)
    outputs = _outputs(result, reply.outputs)
    repeated = _outputs(result, result.repeated().outputs)
    is_random = bool(repeated) and not all(
        is_equal(value, repeated.get(name, ""), dtype) for name, value in outputs.items()
    )
    mismatches = result.attribute_mismatches()
    is_wrong = next(mismatches, None) is not None or not result.right
    is_clear = False
    for name, expected in result.expected.outputs.items():
        output = outputs.get(name)
        value = expected.value.to(output.dtype) if isinstance(output, Tensor) else expected.value
        is_clear = is_clear or not is_equal(output, value, dtype)
    return Observed(
        index=result.index,
        dtype=dtype,
        behaviour=Behaviour(None, outputs),
        is_random=is_random,
        is_repeated=bool(repeated),
        is_wrong=is_wrong,
        is_clear=is_wrong and is_clear,
        is_extreme=is_extreme,
    )


def _outputs(result: CaseResult, returns: Returns) -> dict[str, Tensor | str]:
    outputs: dict[str, Tensor | str] = {}
    for name, returned in returns.items():
        value = result.value_of(returned)
        if value is not None:
            outputs[name] = value
        elif returned.dtype in DTYPES:  # the worker does not send very large tensors
            outputs[name] = torch.empty(returned.shape, dtype=DTYPES[returned.dtype], device="meta")
        elif returned.plain:
            outputs[name] = f"{returned.plain}: {returned.text}"
        else:
            outputs[name] = as_tuple(returned.description)
    return outputs


def is_equal(
    output: Tensor | str | None, other: Tensor | str | None, dtype: str, scale: float = 0.0
) -> bool:
    """Return whether two outputs are equal up to the rounding of the case's dtype.

    Args:
        scale: the size of values before rounding, if it is more than the largest entry of `other`.
    """
    if not isinstance(output, Tensor) or not isinstance(other, Tensor):
        return not isinstance(output, Tensor) and not isinstance(other, Tensor) and output == other
    if output.shape != other.shape or output.dtype != other.dtype:
        return False
    if output.numel() == 0 or output.is_meta or other.is_meta:
        return True
    if not output.is_floating_point():
        return torch.equal(output, other)
    values, other_values = output.to(torch.float64), other.to(torch.float64)
    relative = RELATIVE.get(dtype, 1e-3)
    worst = float((values - other_values).abs().max())
    if not math.isfinite(worst):  # NaN and infinities must be at the same places
        if not torch.equal(values.isnan(), other_values.isnan()) or not torch.equal(
            values.isinf(), other_values.isinf()
        ):
            return False
        values = values.nan_to_num(0.0, 0.0, 0.0)
        other_values = other_values.nan_to_num(0.0, 0.0, 0.0)
        worst = float((values - other_values).abs().max())
    return worst <= relative * max(scale, float(other_values.abs().max()))


def has_nan(behaviour: Behaviour | None) -> bool:
    outputs = {} if behaviour is None else behaviour.outputs
    return any(
        isinstance(value, Tensor) and bool(value.isnan().any()) for value in outputs.values()
    )


def has_same_shapes(behaviour: Behaviour, other: Behaviour) -> bool:
    """Return whether two behaviours have the same outputs, with tensors of the same shapes."""
    kinds, other_kinds = (
        {
            name: (value.shape, value.dtype) if isinstance(value, Tensor) else None
            for name, value in each.outputs.items()
        }
        for each in (behaviour, other)
    )
    return kinds == other_kinds


def are_alike(
    first: Behaviour | None,
    second: Behaviour | None,
    dtype: str,
    scales: Mapping[str, float] | None = None,
) -> bool:
    """Return whether two behaviours both raise, or have equal outputs up to rounding."""
    if first is None or second is None:
        return first is second
    if (first.failure is None) != (second.failure is None):
        return False
    if first.outputs.keys() != second.outputs.keys():
        return False
    return all(
        is_equal(value, second.outputs[name], dtype, (scales or {}).get(name, 0.0))
        for name, value in first.outputs.items()
    )


_LOSSES = 8.0  # a difference of 8 times the loss of the dtype is still rounding


class Likeness(IntEnum):
    """How far a patched reference behaves like a submission in one case."""

    DIFFERENT = 0
    # The case decides nothing: both draw at random, or rounding decides.
    POSSIBLE = 1
    SAME = 2


class Agreement:
    """Decide which known mistakes behave like a submission."""

    def __init__(self, references: PatchedReferences, comparison: Comparison) -> None:
        self.references, self.comparison = references, comparison
        self.case_set = comparison.case_set
        self._observe(observe(comparison))

    def _observe(self, observed_cases: list[Observed]) -> None:
        self.observed_cases = observed_cases
        self.random = {each.index for each in self.observed_cases if each.is_random}
        # A right answer gives another result in these cases.
        self.wrong_cases = [each for each in self.observed_cases if each.is_wrong]
        # An exception alone may have many reasons.
        self.has_wrong_values = any(each.behaviour.failure is None for each in self.wrong_cases)

    def with_other_draws(self) -> Agreement | None:
        """Return the agreement of a submission that may draw in another order than the reference.

        A single call does not show that a result is random. If the reference draws in such a case,
        the case counts as random here. Returns None if there is no such case.
        """
        drawing = [
            each.index
            for each in self.observed_cases
            if not (each.is_random or each.is_repeated)
            and (right := self.references.behaviour((), each.index)) is not None
            and right.draws
        ]
        if not drawing:
            return None
        other = copy.copy(self)
        other._observe(
            [
                replace(each, is_random=each.is_random or each.index in drawing)
                for each in self.observed_cases
            ]
        )
        return other

    def agrees(self, ids: Ids) -> bool:
        """Return whether mistakes may explain all cases, and not only by chance.

        If no key is left to attend to, a fill of -inf gives NaN and a finite fill gives numbers. If
        only one of both has NaN, the reference is tried with a finite fill, too.
        """
        cases, wrong = self.observed_cases, self.wrong_cases
        disagreeing = next((each for each in cases if not self.agrees_on(ids, each)), None)
        if disagreeing is not None:
            other = self.references.behaviour(ids, disagreeing.index)
            if has_nan(other) == has_nan(disagreeing.behaviour):
                return False
            ids = (*ids, FINITE_FILL)
            if self.references.patched(ids) is None:
                return False
            if not all(self.agrees_on(ids, each) for each in cases):
                return False
        return not wrong or any(self.match(ids, each) is Likeness.SAME for each in wrong)

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
        is_coarse = observed.dtype == "bfloat16" and have_same_shapes
        has_others = any(each.dtype != "bfloat16" for each in self.wrong_cases)
        return Likeness.POSSIBLE if is_coarse and has_others else Likeness.DIFFERENT

    def is_like(self, observed: Observed, other: Behaviour | None) -> bool:
        """Return whether the submission has the other behaviour on a case, up to rounding."""
        # Float32 may lose more than usual, for example in tables of large positions.
        expected = self.case_set.prepared[observed.index].expected.outputs
        factor = _LOSSES / RELATIVE[observed.dtype]
        scales = {name: factor * output.lost for name, output in expected.items()}
        return are_alike(observed.behaviour, other, observed.dtype, scales)

    def is_right(self, ids: Ids, index: int) -> bool:
        """Return whether the reference with these mistakes is right on a case."""
        right, other = self.references.behaviour((), index), self.references.behaviour(ids, index)
        return right is not None and are_alike(right, other, self.case_set.cases[index].dtype)

    def raises_the_same(self, ids: Ids) -> bool:
        """Return whether mistakes raise the submission's exceptions in all its wrong cases."""
        return all(
            in_any_order(self.references.behaviour(ids, each.index)) == in_any_order(each.behaviour)
            for each in self.wrong_cases
        )


def in_any_order(behaviour: Behaviour | None) -> tuple[str, list[str]] | None:
    """Return a failure as its words without numbers, and its sorted numbers; None if none.

    The operands of an operation may be in another order, and so may their sizes in the message.
    """
    if behaviour is None or behaviour.failure is None:
        return None
    numbers = re.findall(r"\d+", behaviour.failure)
    return re.sub(r"\d+", "", behaviour.failure), sorted(numbers)
