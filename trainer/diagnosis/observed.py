"""The observed behaviour of a submission on each case, and when two behaviours are equal."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from trainer.diagnosis.patched_references import Behaviour
from trainer.grading.comparison import CaseResult, Comparison, Returns
from trainer.model.case import Case
from trainer.worker.protocol import DTYPES

# Two computations of the same wrong function differ by rounding: this much of the largest entry.
RELATIVE = {"float64": 1e-4, "float32": 1e-3, "bfloat16": 4e-2}
_EXTREME = 1e9


@dataclass(frozen=True)
class Observed:
    """The result of one case.

    index      of the case, from 0
    is_random  another call on the same inputs gives other values
    is_wrong   a right answer gives something else
    is_clear   it is so far from right that a known mistake is told from a right answer by it
    is_extreme such large numbers go in that a wrong computation is a matter of rounding
    """

    index: int
    dtype: str
    behaviour: Behaviour
    is_random: bool
    is_wrong: bool
    is_clear: bool
    is_extreme: bool


def observe(comparison: Comparison) -> list[Observed]:
    """Return every case that came to something, the most telling cases first.

    In a case with wrong values a mistake is soonest told from another.
    """
    cases = comparison.case_set.cases
    found = [
        _observed(comparison, result) for result in comparison.results if not result.told.unassigned
    ]
    # A draw that changes nothing, or the single call of a counted case, does not show that it is
    # random. So a submission that is random in one case is random in all cases of that mode.
    modes = {cases[seen.index].mode for seen in found if seen.is_random}
    found = [replace(seen, is_random=cases[seen.index].mode in modes) for seen in found]

    def rank(seen: Observed) -> tuple[bool, bool, bool, bool, int]:
        case = cases[seen.index]
        is_coarse = seen.dtype == "bfloat16" or case.probe is not None
        has_failed = seen.behaviour.failure is not None
        return (not seen.is_wrong, has_failed, not seen.is_clear, is_coarse, coincidences(case))

    return sorted(found, key=rank)


def coincidences(case: Case) -> int:
    """Return how many sizes of a case are 1 or equal another size."""
    sizes = dict(case.sizes)
    if sizes.get("Hkv"):
        sizes["G"] = sizes.get("H", 0) // sizes["Hkv"]
    return len(sizes) - len({size for size in sizes.values() if size > 1})


def _observed(comparison: Comparison, result: CaseResult) -> Observed:
    told, dtype = result.told, result.case.dtype
    is_extreme = result.prepared.largest_number > _EXTREME
    failure = told.failure
    if failure is not None and failure.phase != "forward with gradients":
        behaviour = Behaviour(f"{failure.type}: {failure.message}", {})
        return Observed(result.index, dtype, behaviour, False, True, True, is_extreme)
    outputs = _outputs(comparison, told.outputs)
    again = _outputs(comparison, told.outputs_once_more)
    is_random = bool(again) and not all(
        is_equal(value, again.get(name, ""), dtype) for name, value in outputs.items()
    )
    mismatches = comparison.attribute_mismatches(result, told.outputs)
    is_wrong = next(mismatches, None) is not None or not comparison.right(result)
    is_clear = False
    for name, want in result.expected.outputs.items():
        mine = outputs.get(name)
        value = want.value.to(mine.dtype) if isinstance(mine, Tensor) else want.value
        is_clear = is_clear or not is_equal(mine, value, dtype)
    return Observed(
        index=result.index,
        dtype=dtype,
        behaviour=Behaviour(None, outputs),
        is_random=is_random,
        is_wrong=is_wrong,
        is_clear=is_wrong and is_clear,
        is_extreme=is_extreme,
    )


def _outputs(comparison: Comparison, returns: Returns) -> dict[str, Tensor | str]:
    """Return tensors by name, and outputs that are no tensors as text."""
    found: dict[str, Tensor | str] = {}
    for name, returned in returns.items():
        value = comparison.value_of(returned)
        if value is not None:
            found[name] = value
        elif returned.dtype in DTYPES:  # too large to be sent
            found[name] = torch.empty(returned.shape, dtype=DTYPES[returned.dtype], device="meta")
        else:
            found[name] = f"{returned.plain}: {returned.text}"
    return found


def is_equal(
    mine: Tensor | str | None, other: Tensor | str | None, dtype: str, scale: float = 0.0
) -> bool:
    """Return whether two outputs are equal up to rounding.

    Args:
        dtype: of the case, which sets what is rounding.
        scale: rounding is measured against the largest entry, or against this if it is larger.
    """
    if not isinstance(mine, Tensor) or not isinstance(other, Tensor):
        return not isinstance(mine, Tensor) and not isinstance(other, Tensor) and mine == other
    if mine.shape != other.shape or mine.dtype != other.dtype:
        return False
    if mine.numel() == 0 or mine.is_meta or other.is_meta:
        return True
    if not mine.is_floating_point():
        return torch.equal(mine, other)
    one, two = mine.to(torch.float64), other.to(torch.float64)
    relative = RELATIVE.get(dtype, 1e-3)
    worst = float((one - two).abs().max())
    if not math.isfinite(worst):  # NaN and infinities must stand in the same places
        if not torch.equal(one.isnan(), two.isnan()) or not torch.equal(one.isinf(), two.isinf()):
            return False
        one, two = one.nan_to_num(0.0, 0.0, 0.0), two.nan_to_num(0.0, 0.0, 0.0)
        worst = float((one - two).abs().max())
    return worst <= relative * max(scale, float(two.abs().max()))


def has_nan(behaviour: Behaviour | None) -> bool:
    """Return whether an output holds NaN."""
    if behaviour is None:
        return False
    values = [value for value in behaviour.outputs.values() if isinstance(value, Tensor)]
    return any(bool(value.isnan().any()) for value in values)


def has_same_shapes(behaviour: Behaviour, other: Behaviour) -> bool:
    """Return whether two behaviours have the same outputs, with tensors of the same shapes."""
    if behaviour.outputs.keys() != other.outputs.keys():
        return False
    for name, value in behaviour.outputs.items():
        if isinstance(value, Tensor) and value.shape != getattr(other.outputs[name], "shape", None):
            return False
    return True


def are_equal(
    outputs: Mapping[str, Tensor | str],
    others: Mapping[str, Tensor | str],
    dtype: str,
    scales: Mapping[str, float] | None = None,
) -> bool:
    """Return whether each output equals the other output of its name, up to rounding."""
    return all(
        is_equal(value, others.get(name), dtype, (scales or {}).get(name, 0.0))
        for name, value in outputs.items()
    )
