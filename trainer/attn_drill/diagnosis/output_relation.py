"""Describe how two tensors are related: a factor, another order of dims, or moved slices."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import permutations

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

    Args:
        actual: the tensor of the submission.
        right: the tensor of the reference.
        dims: the named dimensions of `right`, e.g. "B L (H D)"; "" if they are unknown.
        sizes: the value of every letter.
    """
    actual, right = actual.detach().to(torch.float64), right.detach().to(torch.float64)
    if actual.numel() != right.numel() or actual.numel() < 4:
        return None
    if not bool(actual.isfinite().all() and right.isfinite().all()):
        return None
    letters, lengths = _split_axes(dims, right.shape, sizes)
    found = None
    if actual.shape == right.shape:
        found = _factor(actual, right, sizes) or _moved(actual, right, letters, lengths)
    return found or _reordered(actual, right, letters, lengths)


def _close(actual: Tensor, right: Tensor) -> bool:
    return bool(((actual - right).abs() <= _TOLERANCE * float(right.abs().max())).all())


def _factor(actual: Tensor, right: Tensor, sizes: Sizes) -> str | None:
    size = float((right * right).sum())
    factor = float((actual * right).sum()) / size if size else 0.0
    is_factor = abs(factor - 1) >= 0.02 and abs(factor) >= 1e-6
    if not is_factor or not _close(actual, factor * right):
        return None
    return f"this is the right result times {_factor_in_words(factor, sizes)}"


def _factor_in_words(factor: float, sizes: Sizes) -> str:
    """Return a factor, and the only letter of which it is a power."""
    found = [
        words.format(letter)
        for letter, size in sizes.items()
        for power, words in _POWERS
        if letter[0] not in _LENGTHS
        and size > 1
        and math.isclose(factor, size**power, rel_tol=5e-3)
    ]
    return f"{factor:.4g} = {found[0]}" if len(found) == 1 else f"{factor:.4g}"


def _split_axes(dims: str, shape: Sequence[int], sizes: Sizes) -> tuple[list[str], list[int]]:
    """Return the letters and sizes of all axes after grouped axes are split.

    If the letters do not fit the shape, no axis is split, and axes are named by their sizes.
    """
    letters = [letter for axis in axes(dims) for letter in axis]
    lengths = [sizes.get(letter, 0) for letter in letters]
    if not letters or math.prod(lengths) != math.prod(shape):
        return _named_by_size(shape, sizes), list(shape)
    has_groups = len(letters) > len(axes(dims))
    heads = sizes.get("H", 0)
    if letters[-1] == "M" and not has_groups and heads and sizes["M"] % heads == 0:
        return [*letters[:-1], "H", "D"], [*lengths[:-1], heads, sizes["M"] // heads]
    return letters, lengths


def _named_by_size(shape: Sequence[int], sizes: Sizes) -> list[str]:
    """Return a name for each axis: the letter of its size if letter and axis are unique."""
    names = []
    for axis, length in enumerate(shape):
        letters = [letter for letter, size in sizes.items() if size == length]
        is_alone = len(letters) == 1 and list(shape).count(length) == 1
        names.append(letters[0] if is_alone else f"axis {axis}")
    return names


def _moved(actual: Tensor, right: Tensor, letters: list[str], lengths: list[int]) -> str | None:
    """Return how the slices along an axis are right slices at other places; None if not."""
    actual, right = actual.reshape(lengths), right.reshape(lengths)
    for axis, letter in enumerate(letters):
        if not 2 <= lengths[axis] <= _MOST_SLICES:
            continue
        slices, right_slices = (
            tensor.transpose(0, axis).reshape(lengths[axis], -1) for tensor in (actual, right)
        )
        # Equal slices, for example of repeated heads, all get the place of the first.
        wanted = [_place(row, right_slices) for row in right_slices]
        places = [_place(row, right_slices) for row in slices]
        if words := _move_in_words(letter, places, wanted):
            return words
    return None


def _move_in_words(letter: str, places: list[int], wanted: list[int]) -> str | None:
    """Return in words how slices have moved; None if they have not.

    Args:
        letter: the name of the axis.
        places: for each slice, the place of the right slice that is equal to it, or -1.
        wanted: the places of the right slices.
    """
    unknown = places.count(-1)
    if places == wanted or unknown > min(1, len(places) - 2):
        return None
    steps = {
        place - right_place for place, right_place in zip(places, wanted, strict=True) if place >= 0
    }
    if len(steps) == 1 and len(set(wanted)) == len(wanted):
        (step,) = steps
        # If step is 0, all slices are at their places, except a slice with wrong values.
        return f"along {letter}, this is the right result shifted by {-step}" if step else None
    if unknown:
        return None
    # Equal slices have one number, so that repeated heads are 0 0 1 1 and tiled heads 0 1 0 1.
    numbers = {place: number for number, place in enumerate(dict.fromkeys(wanted))}
    found, expected = (
        " ".join(str(numbers[place]) for place in order) for order in (places, wanted)
    )
    return f"along {letter}, this has the right slices {found} instead of {expected}"


def _place(row: Tensor, right_slices: Tensor) -> int:
    """Return the place of the first right slice that equals a slice, or -1."""
    for place, right in enumerate(right_slices):
        if _close(row, right):
            return place
    return -1


def _reordered(actual: Tensor, right: Tensor, letters: list[str], lengths: list[int]) -> str | None:
    """Return in words the order of dims in which the right entries were read; None if none fits."""
    if not _close(actual.flatten().sort().values, right.flatten().sort().values):
        return None
    has_shape = actual.shape == right.shape
    if has_shape and float((actual - right).abs().max()) < _FAR * float(right.abs().max()):
        # Entries with small errors are close to the right entries when sorted, too.
        return None
    if len(letters) > _MOST_LETTERS:
        return None
    laid_out = right.reshape(lengths)
    for order in permutations(range(len(lengths))):
        is_in_order = list(order) == sorted(order)
        if (is_in_order and has_shape) or not _close(
            actual.flatten(), laid_out.permute(order).flatten()
        ):
            continue
        if is_in_order:
            return "these are the right numbers in the right order, but in another shape"
        names = ", ".join(letters[index] for index in order)
        return (
            f"these are the right numbers, but laid out as [{names}] instead of "
            f"[{', '.join(letters)}]: an axis was split or merged without the transpose"
        )
    return "these are the right numbers, but in another order"
