"""Shapes in words, and pictures of a wrong output: how far its values are off.

A boolean output is shown as it is, next to the expected output.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import combinations

import torch
from torch import Tensor

from attn_drill.grading._reference import without_ones
from attn_drill.grading.comparison import Comparison
from attn_drill.model.case import axes
from attn_drill.model.report import ErrorMap, Outcome, Patterns

Shape = tuple[int, ...]

_POSITIONS = "LTK"  # first letters of the dimensions of positions
# The dimensions that code merges into one axis.
_MERGED_ITEMS = tuple(("B", other) for other in ("H", "Hkv", "L", "Lq", "Lk"))
_MERGED_HEADS = tuple((heads, size) for heads in ("H", "Hkv") for size in ("D", "Dv", "Dn", "Dr"))

_MOST_ROWS, _MOST_COLUMNS = 12, 36  # of a picture; longer dimensions are joined into blocks
_MOST_PATTERN_ROWS, _MOST_PATTERN_COLUMNS = 12, 64  # of a boolean matrix
_TELLING = 0.2  # a smaller spread of the wrong share along a dimension tells nothing
_FARTHEST = 1e9  # in units of the tolerance
# The dimensions that a reader wants to see first, if all tell the same: heads by positions.
_PREFERRED = ("H", "L", "Lq", "T", "Hkv", "Lk", "K", "B")
# Rows are above columns in this order, so positions are columns below heads, but rows above keys.
_ORDER = ("B", "H", "Hkv", "G", "L", "Lq", "T", "K", "Lk")


def name_shape(shape: Shape, sizes: Mapping[str, int], dims: str = "") -> str:
    """Return a shape with the letters of its axes.

    An axis gets its letter from `dims`, the expected dimensions, if it has the size of that letter.
    Axes that were moved or that are not in `dims` get their letters by size, if only one letter has
    this size.

    >>> name_shape((2, 7, 15), {"B": 2, "L": 7, "H": 3, "D": 5}, "B L (H D)")
    '[B=2, L=7, H·D=15]'
    """
    letters = axes(dims)
    expected = tuple(math.prod(sizes[letter] for letter in axis) for axis in letters)
    if len(shape) == len(expected) and (shape == expected or sorted(shape) != sorted(expected)):
        named = []
        for axis, size, want in zip(letters, shape, expected, strict=True):
            named.append(f"{'·'.join(axis)}={size}" if size == want else str(size))
        return f"[{', '.join(named)}]"
    names = [_name_axis(axis, shape, sizes) for axis in range(len(shape))]
    # Only positions may be two axes of a tensor. Any other letter that fits two axes is a guess.
    shown = [
        str(size) if names.count(name) > 1 and name[0] not in _POSITIONS else name
        for size, name in zip(shape, names, strict=True)
    ]
    return f"[{', '.join(shown)}]"


def _name_axis(axis: int, shape: Shape, sizes: Mapping[str, int]) -> str:
    """Return an axis with the only letter, or the only usual product of letters, of its size."""
    size = shape[axis]
    if size == 1:
        return "1"
    # Code merges the batch with another axis in front of at least two axes.
    may_be_merged = axis == 0 and len(shape) >= 3 and sizes.get("B") not in shape
    merged_items = _MERGED_ITEMS if may_be_merged else ()
    names = [letter for letter, value in sizes.items() if value == size]
    # M is H·D, so a product of heads and features is no second meaning of an axis.
    pairs = merged_items if names else (*merged_items, *_MERGED_HEADS)
    for first, second in pairs:
        is_product = sizes.get(first, 1) > 1 and sizes.get(second, 1) > 1
        if is_product and sizes[first] * sizes[second] == size:
            names.append(f"{first}·{second}")
    return f"{names[0]}={size}" if len(names) == 1 else str(size)


def shape_advice(expected: Shape, actual: Shape) -> str:
    """Return advice on the permutation or reshape that gives the right shape, or "".

    >>> shape_advice((2, 7, 3), (2, 3, 7))
    'transpose(1, 2) would give the right shape'
    """
    if sorted(expected) == sorted(actual) and len(set(actual)) == len(actual):
        moved = [axis for axis, size in enumerate(expected) if size != actual[axis]]
        if len(moved) == 2:
            return f"transpose({moved[0]}, {moved[1]}) would give the right shape"
        order = ", ".join(str(actual.index(size)) for size in expected)
        return f"permute({order}) would give the right shape"
    difference = len(expected) - len(actual)
    if difference and without_ones(expected) == without_ones(actual):
        count = abs(difference)
        subject = "an axis of size 1 is" if count == 1 else f"{count} axes of size 1 are"
        if difference > 0:
            return f"{subject} missing; unsqueeze adds one"
        return f"{subject} too many; squeeze removes one"
    if math.prod(expected) == math.prod(actual):
        return (
            "the number of entries is right, so the heads may not be merged, or in a wrong order "
            f"(bring the dims into the right order, then reshape to {list(expected)})"
        )
    return ""


def with_pictures(outcome: Outcome, comparison: Comparison) -> Outcome:
    """Return a failed outcome with pictures of its wrong output, if values were compared."""
    mismatch = outcome.mismatch
    if mismatch is None or mismatch.kind != "value" or outcome.number is None:
        return outcome
    result = comparison.result_of(outcome.number - 1)
    if result is None or mismatch.tensor not in result.expected.outputs:  # a gradient, for example
        return outcome
    expected = result.expected.outputs[mismatch.tensor].value
    actual = result.value_of(result.reply.outputs.get(mismatch.tensor))
    if actual is None or actual.shape != expected.shape:
        return outcome
    off = off_by(expected, actual, result.expected.bounds[mismatch.tensor])
    if int((~(off <= 1)).sum()) != mismatch.mismatched:  # another call of this case was compared
        return outcome
    if expected.dtype == torch.bool:
        pattern = patterns(expected, actual, mismatch.dims)
        return replace(outcome, mismatch=replace(mismatch, patterns=pattern))
    maps = error_maps(off, mismatch.dims, result.case.sizes)
    return replace(outcome, mismatch=replace(mismatch, error_maps=maps))


def off_by(expected: Tensor, actual: Tensor, bound: Tensor) -> Tensor:
    """Return how far each value is off, in units of its tolerance. The shapes are equal.

    If only one of two values is finite, or if they are different infinities, the result is NaN.
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
    spreads: list[float] = []
    for axis in range(len(names)):
        others = [other for other in range(apart.dim()) if other != axis]
        share = wrong.mean(dim=others)
        spread = float(share.max() - share.min())
        spreads.append(spread if spread >= _TELLING else 0.0)

    def rank(pair: tuple[int, int]) -> tuple[float, int]:
        first, second = pair
        place = _place(names[first], _PREFERRED) + _place(names[second], _PREFERRED)
        return -round(spreads[first] + spreads[second], 1), place

    maps = []
    # Two axes may have the same name, for example in a mask [L, L]. So axes are counted, not named.
    for pair in sorted(combinations(range(len(names)), 2), key=rank):
        rows, columns = sorted(pair, key=lambda axis: _place(names[axis], _ORDER))
        others = [axis for axis in range(len(names)) if axis not in pair]
        worst = apart.amax(dim=others) if others else apart  # NaN is greater than every number
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

    None if the tensor has less than two dims, or if no entry is wrong. A number other than 0
    counts as True.
    """
    names = [" ".join(axis) for axis in axes(dims)]
    actual = actual.to(torch.bool)  # a number other than 0 counts as True
    if expected.dim() < 2 or len(names) != expected.dim() or torch.equal(expected, actual):
        return None
    # In the order of nonzero, the first wrong entry is in the first matrix with a wrong entry.
    *outer, row, column = (actual != expected).nonzero()[0].tolist()
    words = [f"{name.lower()}={index}" for name, index in zip(names, outer, strict=False)]
    actual, expected, first = actual[tuple(outer)], expected[tuple(outer)], (row, column)
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
