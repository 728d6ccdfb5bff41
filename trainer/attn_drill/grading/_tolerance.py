"""Compute tolerances, compare a tensor with its expected values, and check dropout.

The tensors have equal shapes: nothing broadcasts.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from itertools import combinations, pairwise

import torch
from torch import Tensor

from attn_drill.model.case import axes
from attn_drill.model.report import Affected, Mismatch, Slice, Summary

_SLICE = 6  # entries that a report shows around a difference

# (relative, absolute) tolerance by dtype, as in torch.testing. float64 is no tighter than 1e-6,
# because an answer with softmax in float32 is right.
_DEFAULTS: dict[str, tuple[float, float]] = {
    "float64": (1e-6, 1e-6),
    "float32": (1.3e-6, 1e-5),
    "bfloat16": (1.6e-2, 1.6e-2),
}
# Right code with another order of operations may lose this many times as much as the reference.
_LOSS_FACTOR: dict[str, float] = {"float64": 16.0, "float32": 16.0, "bfloat16": 6.0}


def compare_values(
    name: str,
    dims: str,
    sizes: Mapping[str, int],
    expected: Tensor,
    actual: Tensor,
    allowed: Tensor,
) -> Mismatch | None:
    """Return the differences of two tensors; None if every entry is within its bound.

    Args:
        dims: the named dimensions of the tensor, e.g. "B L (H D)".
        expected: the expected values, in float64, bool or an integer dtype.
        allowed: the bound on the absolute difference of each entry, in float64. A NaN in `actual`
            is never within the bound.
    """
    exact, received = expected.to(torch.float64), actual.to(torch.float64)
    difference = (received - exact).abs()
    within = difference <= allowed
    if within.all():
        return None
    wrong = ~(within | (received == exact))  # inf - inf is NaN, but equal infinities agree
    count = int(wrong.sum())
    if count == 0:
        return None
    ranked = torch.where(difference.isfinite(), difference, math.inf)
    ranked = torch.where(wrong, ranked, -1.0)
    first = tuple(wrong.nonzero()[0].tolist())
    worst = tuple((ranked == ranked.max()).nonzero()[0].tolist())
    greatest = float(difference[worst])
    return Mismatch(
        tensor=name,
        kind="value",
        dims=dims,
        expected_shape=tuple(expected.shape),
        actual_shape=tuple(actual.shape),
        expected_type=str(expected.dtype).removeprefix("torch."),
        mismatched=count,
        total=expected.numel(),
        max_abs_error=greatest if math.isfinite(greatest) else None,
        max_abs_error_index=worst,
        first=_slice(expected, actual, wrong, first),
        worst=_slice(expected, actual, wrong, worst),
        affected=_affected(wrong, dims, sizes),
        expected_summary=_summary(expected),
        actual_summary=_summary(actual),
    )


def has_wrong_entry(expected: Tensor, actual: Tensor, allowed: Tensor) -> bool:
    """Return whether `compare_values` would find a difference, without describing it."""
    exact, received = expected.to(torch.float64), actual.to(torch.float64)
    within = (received - exact).abs() <= allowed
    return not (within.all() or (within | (received == exact)).all())


def _slice(expected: Tensor, actual: Tensor, wrong: Tensor, index: tuple[int, ...]) -> Slice:
    """Return a few entries along the last axis around `index`."""
    if not index:
        return Slice((), (float(actual),), (float(expected),), (True,))
    length = expected.shape[-1]
    start = max(0, min(index[-1] - 1, length - _SLICE))
    stop = min(length, start + _SLICE)
    row = index[:-1]
    return Slice(
        (*row, start),
        tuple(actual[row][start:stop].to(torch.float64).tolist()),
        tuple(expected[row][start:stop].to(torch.float64).tolist()),
        tuple(wrong[row][start:stop].tolist()),
    )


def _affected(wrong: Tensor, dims: str, sizes: Mapping[str, int]) -> tuple[Affected, ...]:
    """Return the indices with a wrong entry along each named dimension, also inside "(H D)"."""
    letters = [letter for axis in axes(dims) for letter in axis]
    if math.prod(sizes.get(letter, 0) for letter in letters) != wrong.numel() or not letters:
        return ()
    apart = wrong.reshape([sizes[letter] for letter in letters])
    affected: list[Affected] = []
    for position, letter in enumerate(letters):
        others = [other for other in range(apart.dim()) if other != position]
        along = apart.sum(dim=others) if others else apart
        indices = tuple(along.nonzero().flatten().tolist())
        affected.append(Affected(letter, sizes[letter], indices))
    return tuple(affected)


def _summary(tensor: Tensor) -> Summary:
    values = tensor.to(torch.float64).flatten()
    finite = values[values.isfinite()]
    if finite.numel() == 0:
        return Summary(math.nan, math.nan, math.nan, math.nan, values.numel())
    mean, std = float(finite.mean()), float(finite.std(correction=0))
    low, high = float(finite.min()), float(finite.max())
    return Summary(mean, std, low, high, values.numel() - finite.numel())


def compare_dropout(
    dims: str,
    sizes: Mapping[str, int],
    weights: Tensor,
    actual: Tensor,
    allowed: Tensor,
    p: float,
) -> str | None:
    """Return a sentence if attention weights under dropout are wrong, or None.

    Each entry must be 0 or weight / (1 - p), dropped independently of the others. The share of
    zeros must be within 6 standard deviations of p. `weights` are without dropout, in float64.
    Along the dimension `copy` lie copies of the same weight, which must agree.
    """
    letters = [letter for axis in axes(dims) for letter in axis]
    apart = [sizes[letter] for letter in letters]
    actual = actual.to(torch.float64).reshape(apart)
    weights, allowed = weights.reshape(apart), allowed.reshape(apart)
    counted = weights > allowed * 4
    dropped = (actual.abs() <= allowed / (1 - p)) & counted
    kept = ((actual - weights / (1 - p)).abs() <= allowed / (1 - p)) & counted
    unscaled = ((actual - weights).abs() <= allowed) & counted
    hidden = weights <= 0
    if bool((actual.abs() > allowed)[hidden].any()):
        return (
            "in training mode a masked position has a weight other than 0: "
            "apply the mask in training mode as in eval mode"
        )
    if bool(unscaled[counted].all()):
        return (
            "in training mode nothing is dropped: "
            f"the attention weights are those of eval mode (p = {p})"
        )
    if bool((dropped | unscaled)[counted].all()):
        return (
            f"weights that are kept must be divided by 1 - p = {1 - p:g}, "
            "so that their expectation stays the same"
        )
    if not bool((dropped | kept | ~counted).all()):
        return (
            "the attention weights in training mode are neither 0 nor weight / (1 - p): "
            "apply dropout once, to the weights after softmax"
        )
    if "copy" in letters:
        copies = [dropped.select(letters.index("copy"), copy) for copy in range(sizes["copy"])]
        if any(not torch.equal(first, second) for first, second in pairwise(copies)):
            queries = [place for place, letter in enumerate(letters) if letter in ("L", "Lq")]
            are_equal = all(
                torch.equal(first, second)
                for place in queries
                for first, second in pairwise(dropped.transpose(0, place))
            )
            target = "values" if queries and are_equal else "output"
            return (
                f"dropout acts on the {target}, not on the attention weights: "
                "features of one value are dropped independently"
            )
    total = int(counted.sum())
    if "copy" in letters:
        total //= sizes["copy"]
    share = float(dropped.sum()) / float(counted.sum())
    bound = 6 * math.sqrt(p * (1 - p) / total)
    if abs(share - p) > bound:
        return (
            f"{share:.0%} of the attention weights are dropped in training mode; "
            f"with p = {p} it must be {p:.0%}"
        )
    twins = {
        letter: _share_of_twins(counted.transpose(0, place), dropped.transpose(0, place))
        for place, letter in enumerate(letters)
        if letter != "copy"
    }
    # If heads share one pattern, a few short rows can also be equal by chance. So name the letter
    # with the largest share of equal patterns.
    letter = max(twins, key=lambda letter: twins[letter])
    if twins[letter]:
        return (
            f"the same attention weights are dropped for several indices of {letter}: "
            "every weight must be dropped independently"
        )
    return None


def _share_of_twins(counted: Tensor, dropped: Tensor) -> float:
    """Return the share of pairs of indices along the first axis that drop the same weights.

    A fully masked index drops nothing and is left out.
    """
    along = dropped[counted.flatten(1).any(dim=1)].flatten(1)
    pairs = list(combinations(along, 2))
    if not pairs:
        return 0.0
    return sum(torch.equal(first, second) for first, second in pairs) / len(pairs)


def lower_dtype(dtype: str) -> str:
    """Return the dtype in which the rounding loss of a case is measured.

    For float64 this is float32, because parts of a right answer may be computed in float32.
    """
    return "float32" if dtype == "float64" else dtype


def loss(expected: Tensor, lowered: Tensor) -> float:
    """Return the largest absolute difference between results in float64 and in a lower dtype."""
    if expected.numel() == 0 or not expected.is_floating_point():
        return 0.0
    return float((lowered.to(torch.float64) - expected).abs().max())


def allowed(expected: Tensor, dtype: str, lost: float, scale: float | None = None) -> Tensor:
    """Return the bound on |actual - expected| for each entry; 0 for booleans and integers.

    Args:
        lost: the result of `loss` for this tensor.
        scale: the largest absolute entry of all gradients of a case, because some of them are zero
            except for rounding; by default that of the tensor itself.
    """
    if not expected.is_floating_point():
        return torch.zeros(expected.shape, dtype=torch.float64)
    relative, absolute = _DEFAULTS[dtype]
    size = expected.abs()
    if scale is None:
        scale = float(size.max()) if size.numel() else 0.0
    return relative * size + absolute * min(1.0, scale) + _LOSS_FACTOR[dtype] * lost
