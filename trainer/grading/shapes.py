"""Shapes in words: axes by their letters, and the advice that would give the right shape."""

from __future__ import annotations

import math
from collections.abc import Mapping

from trainer.model.case import axes

Shape = tuple[int, ...]


def name_shape(shape: Shape, sizes: Mapping[str, int], dims: str = "") -> str:
    """Return a shape as `[B=2, L=7, M=48]`.

    An axis gets its letter in `dims` if it has that letter's size. Axes that were moved, or that
    `dims` lacks, are told by their sizes, which differ from each other.

    Args:
        sizes: the value of every letter.
        dims: the named dimensions that are expected, e.g. "B L (H D)".
    """
    letters = axes(dims)
    expected = tuple(math.prod(sizes[letter] for letter in axis) for axis in letters)
    if len(shape) == len(expected) and (shape == expected or sorted(shape) != sorted(expected)):
        named = []
        for axis, size, want in zip(letters, shape, expected, strict=True):
            named.append(f"{'·'.join(axis)}={size}" if size == want else str(size))
        return f"[{', '.join(named)}]"
    left = dict(sizes)  # a letter names one axis only: [5, 5] of Lq = Lk = 5 is [Lq=5, Lk=5]
    named = []
    for size in shape:
        axis_name = _name_axis(size, left if size in left.values() else sizes)
        named.append(axis_name)
        left.pop(axis_name.partition("=")[0], None)
    return f"[{', '.join(named)}]"


def _name_axis(size: int, sizes: Mapping[str, int]) -> str:
    if size == 1:
        return "1"
    for letter, value in sizes.items():
        if value == size:
            return f"{letter}={size}"
    for first, left in sizes.items():
        for second, right in sizes.items():
            if first < second and left * right == size and 1 not in (left, right):
                return f"{first}·{second}={size}"
    return str(size)


def shape_advice(expected: Shape, actual: Shape) -> str:
    """Return the permutation or reshape that would have given the right shape, or ""."""
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
            return f"{subject} missing; unsqueeze puts one in"
        return f"{subject} too many; squeeze takes one out"
    if math.prod(expected) == math.prod(actual):
        return (
            "it has as many entries: heads may be left apart or merged wrongly "
            f"(reshape to {list(expected)} from the right order of dims)"
        )
    return ""


def _without_ones(shape: Shape) -> list[int]:
    return [size for size in shape if size != 1]
