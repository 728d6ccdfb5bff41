"""Describe how two tensors are related: a factor, another order of dims, or moved slices."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import permutations, product

import torch
from torch import Tensor

from attn_drill.model.case import axes

_TOLERANCE = 1e-3
_MOST_SLICES = 64  # of an axis; every slice is compared with every slice
_MOST_LETTERS = 5
_FAR = 0.1  # of the largest entry; entries at wrong places differ by more
_LENGTHS = "BLTK"  # letters of the batch and of lengths, which are never a scale
_POWERS = ((0.5, "sqrt({})"), (-0.5, "1/sqrt({})"), (1.0, "{}"), (-1.0, "1/{}"))
Sizes = Mapping[str, int]


def relation(actual: Tensor, right: Tensor, dims: str, sizes: Sizes) -> str | None:
    """Return in words how a tensor relates to the right tensor; None if no relation is found.

    >>> right = torch.arange(6.0).reshape(2, 3)
    >>> relation(right / 3, right, "L D", {"L": 2, "D": 3})
    'this is the right result times 0.3333 = 1/D'

    Args:
        dims: the named dimensions of `right`, e.g. "B L (H D)"; "" if they are unknown.
    """
    if actual.numel() != right.numel() or actual.numel() < 4:
        return None
    if actual.dtype == right.dtype == torch.bool and torch.equal(actual, ~right):
        return "True and False are exchanged: this is exactly the opposite of the right result"
    actual, right = actual.detach().to(torch.float64), right.detach().to(torch.float64)
    if not bool(actual.isfinite().all() and right.isfinite().all()):
        return None
    letters, lengths = _split_axes(dims, right.shape, sizes)
    words = None
    if actual.shape == right.shape:
        words = _factor(actual, right, sizes) or _moved(actual, right, letters, lengths)
    return words or _reordered(actual, right, letters, lengths)


def _close(actual: Tensor, right: Tensor) -> bool:
    return bool(((actual - right).abs() <= _TOLERANCE * float(right.abs().max())).all())


def _factor(actual: Tensor, right: Tensor, sizes: Sizes) -> str | None:
    """Return a factor in words, with the only letter of which it is a power; None if none fits."""
    size = float((right * right).sum())
    factor = float((actual * right).sum()) / size if size else 0.0
    is_factor = abs(factor - 1) >= 0.02 and abs(factor) >= 1e-6
    if not is_factor or not _close(actual, factor * right):
        return None
    powers = [
        words.format(letter)
        for (letter, length), (power, words) in product(sizes.items(), _POWERS)
        if letter[0] not in _LENGTHS and length > 1
        if math.isclose(factor, length**power, rel_tol=5e-3)
    ]
    meaning = f" = {powers[0]}" if len(powers) == 1 else ""
    return f"this is the right result times {factor:.4g}{meaning}"


def _split_axes(dims: str, shape: Sequence[int], sizes: Sizes) -> tuple[list[str], list[int]]:
    """Return the letters and sizes of all axes after grouped axes are split.

    If the letters do not fit the shape, no axis is split. Then an axis is named by the letter of
    its size, if letter and axis are unique, or by its number.
    """
    letters = [letter for axis in axes(dims) for letter in axis]
    lengths = [sizes.get(letter, 0) for letter in letters]
    if not letters or math.prod(lengths) != math.prod(shape):
        names = []
        for axis, length in enumerate(shape):
            fitting = [letter for letter, size in sizes.items() if size == length]
            is_alone = len(fitting) == 1 and list(shape).count(length) == 1
            names.append(fitting[0] if is_alone else f"axis {axis}")
        return names, list(shape)
    has_groups = len(letters) > len(axes(dims))
    heads = sizes.get("H", 0)
    if letters[-1] == "M" and not has_groups and heads and sizes["M"] % heads == 0:
        return [*letters[:-1], "H", "D"], [*lengths[:-1], heads, sizes["M"] // heads]
    return letters, lengths


def _moved(actual: Tensor, right: Tensor, letters: list[str], lengths: list[int]) -> str | None:
    """Return how the slices along an axis are right slices at other places; None if not."""
    actual, right = actual.reshape(lengths), right.reshape(lengths)
    for axis, (letter, length) in enumerate(zip(letters, lengths, strict=True)):
        if not 2 <= length <= _MOST_SLICES:
            continue
        slices, right_slices = (
            tensor.transpose(0, axis).reshape(length, -1) for tensor in (actual, right)
        )
        # Equal slices, for example of repeated heads, all get the place of the first.
        wanted = [_place(row, right_slices) for row in right_slices]
        places = [_place(row, right_slices) for row in slices]
        unknown = places.count(-1)
        if places == wanted or unknown > min(1, length - 2):
            continue
        pairs = zip(places, wanted, strict=True)
        steps = {place - right_place for place, right_place in pairs if place >= 0}
        if len(steps) == 1 and len(set(wanted)) == length:
            # If the step is 0, all slices are at their places, except one with wrong values.
            if step := steps.pop():
                return f"along {letter}, this is the right result shifted by {-step}"
        elif not unknown:
            # Equal slices have one number, so that repeated heads are 0 0 1 1.
            numbers = {place: str(number) for number, place in enumerate(dict.fromkeys(wanted))}
            order, right_order = (
                " ".join(numbers[place] for place in each) for each in (places, wanted)
            )
            return f"along {letter}, this has the right slices {order} instead of {right_order}"
    return None


def _place(row: Tensor, right_slices: Tensor) -> int:
    """Return the place of the first right slice that equals a slice, or -1."""
    places = (place for place, right in enumerate(right_slices) if _close(row, right))
    return next(places, -1)


def _reordered(actual: Tensor, right: Tensor, letters: list[str], lengths: list[int]) -> str | None:
    """Return in words the order of dims in which the right entries were read; None if none fits."""
    if not _close(actual.flatten().sort().values, right.flatten().sort().values):
        return None
    has_shape = actual.shape == right.shape
    # Entries with small errors are close to the right entries when sorted, too.
    if has_shape and float((actual - right).abs().max()) < _FAR * float(right.abs().max()):
        return None
    if len(letters) > _MOST_LETTERS:
        return None
    if not has_shape and _close(actual.flatten(), right.flatten()):
        return "these are the right numbers in the right order, but in another shape"
    laid_out = right.reshape(lengths)
    _, *orders = permutations(range(len(lengths)))
    for order in orders:
        if _close(actual.flatten(), laid_out.permute(order).flatten()):
            names = ", ".join(letters[index] for index in order)
            return (
                f"these are the right numbers, but laid out as [{names}] instead of "
                f"[{', '.join(letters)}]: an axis was split or merged without the transpose"
            )
    return "these are the right numbers, but in another order"
