"""Shapes in words: name the axes by letters, and advise how to get the right shape."""

from __future__ import annotations

import math
from collections.abc import Mapping

from trainer.model.case import axes

Shape = tuple[int, ...]


def name_shape(shape: Shape, sizes: Mapping[str, int], dims: str = "") -> str:
    """Return a shape as `[B=2, L=7, M=48]`.

    An axis gets its letter from `dims` if it has the size of that letter. Axes that were moved or
    that are not in `dims` get their letters by size, because sizes usually differ.

    Args:
        shape: the shape to name.
        sizes: the size of every letter.
        dims: the expected named dimensions, e.g. "B L (H D)".
    """
    letters = axes(dims)
    expected = tuple(math.prod(sizes[letter] for letter in axis) for axis in letters)
    if len(shape) == len(expected) and (shape == expected or sorted(shape) != sorted(expected)):
        named = []
        for axis, size, want in zip(letters, shape, expected, strict=True):
            named.append(f"{'·'.join(axis)}={size}" if size == want else str(size))
        return f"[{', '.join(named)}]"
    unused = dict(sizes)  # a letter names one axis only: [5, 5] of Lq = Lk = 5 is [Lq=5, Lk=5]
    named = []
    for size in shape:
        axis_name = _name_axis(size, unused if size in unused.values() else sizes)
        named.append(axis_name)
        unused.pop(axis_name.partition("=")[0], None)
    return f"[{', '.join(named)}]"


def _name_axis(size: int, sizes: Mapping[str, int]) -> str:
    if size == 1:
        return "1"
    for letter, value in sizes.items():
        if value == size:
            return f"{letter}={size}"
    for first, first_size in sizes.items():
        for second, second_size in sizes.items():
            is_product = first_size * second_size == size
            if first < second and is_product and 1 not in (first_size, second_size):
                return f"{first}·{second}={size}"
    return str(size)


def shape_advice(expected: Shape, actual: Shape) -> str:
    """Return advice on the permutation or reshape that gives the right shape, or ""."""
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
