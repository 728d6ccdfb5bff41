"""Make the pictures of a wrong output: how far its values are off along two dimensions.

A boolean output is shown as it is, next to the expected output.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import torch
from torch import Tensor

from attn_drill.grading.comparison import CaseResult, Comparison
from attn_drill.model.case import axes
from attn_drill.model.report import ErrorMap, Mismatch, Outcome, Patterns

_MOST_ROWS, _MOST_COLUMNS = 12, 36  # of a picture; longer dimensions are joined into blocks
_MOST_PATTERN_ROWS, _MOST_PATTERN_COLUMNS = 12, 64  # of a boolean matrix
_TELLING = 0.2  # a smaller spread of the wrong share along a dimension tells nothing
_FARTHEST = 1e9  # in units of the tolerance
# The dimensions that a reader wants to see first, if all tell the same: heads by positions.
_PREFERRED = ("H", "L", "Lq", "T", "Hkv", "Lk", "K", "B")
# Rows are above columns in this order, so positions are columns below heads, but rows above keys.
_ORDER = ("B", "H", "Hkv", "G", "L", "Lq", "T", "K", "Lk")


def with_pictures(outcome: Outcome, comparison: Comparison) -> Outcome:
    """Return a failed outcome with pictures of its wrong output, if values were compared."""
    mismatch = outcome.mismatch
    if mismatch is None or mismatch.kind != "value" or outcome.number is None:
        return outcome
    result = comparison.result_of(outcome.number - 1)
    if result is None:
        return outcome
    return replace(outcome, mismatch=_pictured(mismatch, result, comparison))


def _pictured(mismatch: Mismatch, result: CaseResult, comparison: Comparison) -> Mismatch:
    """Return a mismatch with pictures, if the values of the first call are the differing values."""
    expected = result.expected.outputs.get(mismatch.tensor)
    actual = result.value_of(result.reply.outputs.get(mismatch.tensor))
    if expected is None or actual is None or actual.shape != expected.value.shape:
        return mismatch
    bound = result.expected.bounds[mismatch.tensor]
    sizes = dict(result.case.sizes)
    off = off_by(expected.value, actual, bound)
    if int((~(off <= 1)).sum()) != mismatch.mismatched:  # another call of this case was compared
        return mismatch
    if expected.value.dtype == torch.bool:
        return replace(mismatch, patterns=patterns(expected.value, actual, mismatch.dims))
    return replace(mismatch, error_maps=error_maps(off, mismatch.dims, sizes))


def off_by(expected: Tensor, actual: Tensor, bound: Tensor) -> Tensor:
    """Return how far each value is off, in units of its tolerance.

    If only one of two values is finite, or if they are different infinities, the result is NaN.

    Args:
        expected: the expected values, of any shape.
        actual: the values of the submission, of the same shape.
        bound: the tolerance of every value, of the same shape.
    """
    exact, received = expected.to(torch.float64), actual.to(torch.float64)
    difference = (received - exact).abs()
    off = torch.where(difference <= bound, 0.0, difference / bound).clamp(max=_FARTHEST)
    off = torch.where(difference.isfinite(), off, math.nan)
    return torch.where(received == exact, 0.0, off)


def error_maps(off: Tensor, dims: str, sizes: Mapping[str, int]) -> tuple[ErrorMap, ...]:
    """Return a map for every pair of dimensions, the most telling pair first.

    Args:
        off: how far each value is off, in units of its tolerance; NaN if a value is not finite.
        dims: the named dimensions, e.g. "B L (H D)"; "" if they are unknown.
    """
    names, apart = _named(off, dims, sizes)
    if not names:
        return ()
    if len(names) == 1:
        return (_map("", names[0], apart.unsqueeze(0)),)
    wrong = (~(apart <= 1)).to(torch.float64)
    spread: list[float] = []
    for axis in range(len(names)):
        others = [other for other in range(apart.dim()) if other != axis]
        share = wrong.mean(dim=others)
        spread.append(float(share.max() - share.min()))

    def rank(pair: tuple[int, int]) -> tuple[float, int]:
        told = sum(spread[axis] for axis in pair if spread[axis] >= _TELLING)
        return -round(told, 1), sum(_place(names[axis], _PREFERRED) for axis in pair)

    maps = []
    # Two axes may have the same name, for example in a mask [L, L]. So axes are counted, not named.
    for pair in sorted(combinations(range(len(names)), 2), key=rank):
        rows, columns = sorted(pair, key=lambda axis: _place(names[axis], _ORDER))
        others = [axis for axis in range(len(names)) if axis not in pair]
        worst = _worst_along(apart, others)
        maps.append(_map(names[rows], names[columns], worst if rows < columns else worst.T))
    return tuple(maps)


def _place(name: str, order: Sequence[str]) -> int:
    return order.index(name) if name in order else len(order)


def _named(tensor: Tensor, dims: str, sizes: Mapping[str, int]) -> tuple[list[str], Tensor]:
    """Return a tensor with an axis for each dimension longer than 1, and their names."""
    letters = [letter for axis in axes(dims) for letter in axis]
    lengths = [sizes.get(letter, 0) for letter in letters]
    if not letters or math.prod(lengths) != tensor.numel():
        lengths = list(tensor.shape)
        letters = [f"axis {axis}" for axis in range(len(lengths))]
    kept = [(name, length) for name, length in zip(letters, lengths, strict=True) if length > 1]
    return [name for name, _ in kept], tensor.reshape([length for _, length in kept])


def _worst_along(off: Tensor, dims: Sequence[int]) -> Tensor:
    """Return the greatest entries along dims. NaN is greater than every number."""
    return off.amax(dim=list(dims)) if dims else off


def _map(rows: str, columns: str, off: Tensor) -> ErrorMap:
    """Return a map of a matrix. Several neighbours share a cell if there are too many."""
    row_step = math.ceil(off.shape[0] / _MOST_ROWS)
    column_step = math.ceil(off.shape[1] / _MOST_COLUMNS)
    cells = []
    for block in torch.split(off, row_step):
        parts = torch.split(block, column_step, dim=1)
        worst = [float(part.amax()) for part in parts]
        cells.append(tuple(None if math.isnan(cell) else cell for cell in worst))
    return ErrorMap(rows, columns, off.shape[0], off.shape[1], row_step, column_step, tuple(cells))


def patterns(expected: Tensor, actual: Tensor, dims: str) -> Patterns | None:
    """Return the first matrix with a wrong entry, or the part of it around this entry.

    Returns None if the tensor has less than two dims, or if no entry is wrong.

    Args:
        expected: the expected booleans, of any shape.
        actual: the booleans or numbers of the submission, of the same shape.
        dims: the named dimensions, e.g. "B H Lq Lk".
    """
    names = [" ".join(axis) for axis in axes(dims)]
    actual = actual.to(torch.bool)  # a number other than 0 counts as True
    if expected.dim() < 2 or len(names) != expected.dim() or torch.equal(expected, actual):
        return None
    wrong = (expected != actual).flatten(-2).any(dim=-1).flatten()
    item = int(wrong.to(torch.uint8).argmax())
    place = []
    for name, size in reversed(list(zip(names[:-2], expected.shape[:-2], strict=True))):
        item, index = divmod(item, size)
        place.append((index, f"{name.lower()}={index}"))
    outer = tuple(index for index, _ in reversed(place))
    words = [words for _, words in reversed(place)]
    actual, expected = actual[outer], expected[outer]
    first = (actual != expected).nonzero()[0].tolist()
    for axis, most in enumerate((_MOST_PATTERN_ROWS, _MOST_PATTERN_COLUMNS)):
        length = expected.shape[axis]
        if length > most:
            start = max(0, min(first[axis] - most // 2, length - most))
            actual, expected = actual.narrow(axis, start, most), expected.narrow(axis, start, most)
            words.append(f"{names[axis - 2].lower()}={start}-{start + most - 1} of {length}")
    return Patterns(names[-2], names[-1], " ".join(words), rows_of(actual), rows_of(expected))


def rows_of(pattern: Tensor) -> tuple[str, ...]:
    """Return a boolean matrix as strings, with `#` for True and `.` for False."""
    return tuple("".join("#" if is_seen else "." for is_seen in row) for row in pattern.tolist())
