"""Shapes in words: name the axes by letters, and advise how to get the right shape."""

from __future__ import annotations

import math
from collections.abc import Mapping

from attn_drill.model.case import axes

Shape = tuple[int, ...]

_POSITIONS = "LTK"  # first letters of the dimensions of positions
# The dimensions that code merges into one axis.
_MERGED_ITEMS = tuple(("B", other) for other in ("H", "Hkv", "L", "Lq", "Lk"))
_MERGED_HEADS = tuple((heads, size) for heads in ("H", "Hkv") for size in ("D", "Dv", "Dn", "Dr"))


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
    if difference and _without_ones(expected) == _without_ones(actual):
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


def _without_ones(shape: Shape) -> list[int]:
    return [size for size in shape if size != 1]
