"""Say how one tensor is related to another: a factor, another order of dims, moved slices."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import permutations

import torch
from torch import Tensor

from trainer.model.case import axes

_TOLERANCE = 1e-3
_MOST_SLICES = 64  # along an axis; each is compared with each
_MOST_LETTERS = 5
_FAR = 0.1  # of the largest entry: what changes places differs by more
_LENGTHS = "BLTK"  # nobody scales by the batch or by a length
_POWERS = ((0.5, "sqrt({})"), (-0.5, "1/sqrt({})"), (1.0, "{}"), (-1.0, "1/{}"))
Sizes = Mapping[str, int]


def relation(mine: Tensor, right: Tensor, dims: str, sizes: Sizes) -> str | None:
    """Return in words what would make `mine` of `right`, or None.

    Args:
        dims: the named dimensions of `right`, e.g. "B L (H D)"; "" if they are not known.
        sizes: the value of every letter.
    """
    mine, right = mine.detach().to(torch.float64), right.detach().to(torch.float64)
    if mine.numel() != right.numel() or mine.numel() < 4:
        return None
    if not bool(mine.isfinite().all() and right.isfinite().all()):
        return None
    letters, lengths = _apart(dims, right.shape, sizes)
    found = None
    if mine.shape == right.shape:
        found = _factor(mine, right, sizes) or _moved(mine, right, letters, lengths)
    return found or _reordered(mine, right, letters, lengths)


def _close(mine: Tensor, right: Tensor) -> bool:
    return bool(((mine - right).abs() <= _TOLERANCE * float(right.abs().max())).all())


def _factor(mine: Tensor, right: Tensor, sizes: Sizes) -> str | None:
    size = float((right * right).sum())
    factor = float((mine * right).sum()) / size if size else 0.0
    is_factor = abs(factor - 1) >= 0.02 and abs(factor) >= 1e-6
    if not is_factor or not _close(mine, factor * right):
        return None
    return f"it is the right result times {_number(factor, sizes)}"


def _number(factor: float, sizes: Sizes) -> str:
    """Return a factor, and the letter that it is a power of."""
    for letter, size in sizes.items():
        if letter[0] in _LENGTHS or size < 2:
            continue
        for power, words in _POWERS:
            if math.isclose(factor, size**power, rel_tol=5e-3):
                return f"{factor:.4g} = {words.format(letter)}"
    return f"{factor:.4g}"


def _apart(dims: str, shape: Sequence[int], sizes: Sizes) -> tuple[list[str], list[int]]:
    """Return the letters of all axes and their sizes. Grouped axes are taken apart.

    If the letters do not fit, the axes stay together and are named by their sizes.
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
    """Return a name for each axis: its letter if no other letter and no other axis has its size."""
    names = []
    for axis, length in enumerate(shape):
        letters = [letter for letter, size in sizes.items() if size == length]
        is_alone = len(letters) == 1 and list(shape).count(length) == 1
        names.append(letters[0] if is_alone else f"axis {axis}")
    return names


def _moved(mine: Tensor, right: Tensor, letters: list[str], lengths: list[int]) -> str | None:
    """Return how slices along one axis are slices of the right result, at other places."""
    mine, right = mine.reshape(lengths), right.reshape(lengths)
    for axis, letter in enumerate(letters):
        if not 2 <= lengths[axis] <= _MOST_SLICES:
            continue
        slices, right_slices = (
            tensor.transpose(0, axis).reshape(lengths[axis], -1) for tensor in (mine, right)
        )
        # Equal slices, as of repeated heads, count as the first of them.
        wanted = [_place(row, right_slices) for row in right_slices]
        places = [_place(row, right_slices) for row in slices]
        if words := _move_in_words(letter, places, wanted):
            return words
    return None


def _move_in_words(letter: str, places: list[int], wanted: list[int]) -> str | None:
    """Return how slices lie at other places.

    Args:
        places: for each slice the place of the right slice that it equals; -1 for none.
        wanted: the places of the right slices themselves.
    """
    unknown = places.count(-1)
    if places == wanted or unknown > min(1, len(places) - 2):
        return None
    steps = {place - want for place, want in zip(places, wanted, strict=True) if place >= 0}
    if len(steps) == 1 and len(set(wanted)) == len(wanted):
        (step,) = steps
        # All slices are in their places, except a slice that is wrong in itself.
        return f"along {letter} it is the right result moved by {-step}" if step else None
    if unknown:
        return None
    found, asked = (" ".join(map(str, order)) for order in (places, wanted))
    return f"along {letter} it holds the right slices {found} in place of {asked}"


def _place(row: Tensor, right_slices: Tensor) -> int:
    """Return the place of the first right slice that a slice may be, -1 for none."""
    for place, right in enumerate(right_slices):
        if _close(row, right):
            return place
    return -1


def _reordered(mine: Tensor, right: Tensor, letters: list[str], lengths: list[int]) -> str | None:
    """Return in which other order of dims all the right numbers were read."""
    if not _close(mine.flatten().sort().values, right.flatten().sort().values):
        return None
    has_shape = mine.shape == right.shape
    if has_shape and float((mine - right).abs().max()) < _FAR * float(right.abs().max()):
        # Numbers that are all a little off are close to the right numbers in order as well.
        return None
    if len(letters) > _MOST_LETTERS:
        return None
    laid_out = right.reshape(lengths)
    for order in permutations(range(len(lengths))):
        is_in_order = list(order) == sorted(order)
        if (is_in_order and has_shape) or not _close(
            mine.flatten(), laid_out.permute(order).flatten()
        ):
            continue
        if is_in_order:
            return "it holds the right numbers in the right order, under another shape"
        names = ", ".join(letters[index] for index in order)
        return (
            f"it holds the right numbers laid out as [{names}] where [{', '.join(letters)}] is "
            "asked: an axis was viewed or merged without the transpose"
        )
    return "it holds the right numbers in another order"
