"""In which way one tensor is another: a constant factor, dims in another order, slices moved along an axis."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import permutations

import torch
from torch import Tensor

from trainer.core.words import axes

_TOLERANCE = 1e-3
_MOST_SLICES = 64  # along an axis; each is compared with each
_FAR = 0.1  # of the largest entry: what changes places differs by more


def relation(mine: Tensor, right: Tensor, dims: str, sizes: Mapping[str, int]) -> str | None:
    """Words for what would make `mine` of `right`, or None.

    Args:
        dims: the named dimensions of `right`, e.g. "B L (H D)"; where unknown, "".
        sizes: the value of every letter.
    """
    mine, right = mine.detach().to(torch.float64), right.detach().to(torch.float64)
    if (
        mine.numel() != right.numel()
        or mine.numel() < 4
        or not bool(mine.isfinite().all() and right.isfinite().all())
    ):
        return None
    if mine.shape == right.shape and (
        found := _factor(mine, right, sizes) or _moved(mine, right, dims, sizes)
    ):
        return found
    return _reordered(mine, right, dims, sizes)


def _close(one: Tensor, other: Tensor) -> bool:
    return bool(((one - other).abs() <= _TOLERANCE * float(other.abs().max())).all())


def _factor(mine: Tensor, right: Tensor, sizes: Mapping[str, int]) -> str | None:
    size = float((right * right).sum())
    if size == 0:
        return None
    factor = float((mine * right).sum()) / size
    if abs(factor - 1) < 0.02 or abs(factor) < 1e-6 or not _close(mine, factor * right):
        return None
    return f"it is the right result times {_number(factor, sizes)}"


def _number(factor: float, sizes: Mapping[str, int]) -> str:
    for letter, size in sizes.items():
        if letter[0] in "BLTK":  # nobody scales by the batch or by a length
            continue
        for power, words in (
            (0.5, f"sqrt({letter})"),
            (-0.5, f"1/sqrt({letter})"),
            (1.0, letter),
            (-1.0, f"1/{letter}"),
        ):
            if size > 1 and math.isclose(factor, size**power, rel_tol=5e-3):
                return f"{factor:.4g} = {words}"
    return f"{factor:.4g}"


def _apart(
    dims: str, shape: Sequence[int], sizes: Mapping[str, int]
) -> tuple[list[str], list[int]]:
    """The letters of all axes, grouped ones taken apart, and their sizes; the axes as they are where no letters fit."""
    letters = [letter for axis in axes(dims) for letter in axis]
    lengths = [sizes.get(letter, 0) for letter in letters]
    if letters and math.prod(lengths) == math.prod(shape):
        if (
            len(letters) == len(axes(dims))
            and letters[-1:] == ["M"]
            and "H" in sizes
            and sizes["M"] % sizes["H"] == 0
        ):
            return [*letters[:-1], "H", "D"], [*lengths[:-1], sizes["H"], sizes["M"] // sizes["H"]]
        return letters, lengths
    by_size = [[letter for letter, size in sizes.items() if size == length] for length in shape]
    alone = [names[0] for names in by_size if len(names) == 1]
    return [
        names[0] if len(names) == 1 and alone.count(names[0]) == 1 else f"axis {number}"
        for number, names in enumerate(by_size)
    ], list(shape)


def _moved(mine: Tensor, right: Tensor, dims: str, sizes: Mapping[str, int]) -> str | None:
    """Slices along one axis that are slices of the right result, at other places."""
    letters, lengths = _apart(dims, right.shape, sizes)
    one, other = mine.reshape(lengths), right.reshape(lengths)
    for axis, letter in enumerate(letters):
        if not 2 <= lengths[axis] <= _MOST_SLICES:
            continue
        mine_by, right_by = (
            each.transpose(0, axis).reshape(lengths[axis], -1) for each in (one, other)
        )
        asked = [
            _place(row, right_by) for row in right_by
        ]  # equal slices, as of repeated heads, count as the first of them
        places = [_place(row, right_by) for row in mine_by]
        if places == asked or sum(place >= 0 for place in places) < max(2, len(places) - 1):
            continue
        steps = {place - want for place, want in zip(places, asked, strict=True) if place >= 0}
        if len(steps) == 1 and len(set(asked)) == len(asked):
            (step,) = steps
            if step == 0:  # all in place but one that is wrong in itself
                continue
            return f"along {letter} it is the right result moved by {-step}"
        if -1 not in places:
            return f"along {letter} it holds the right slices {' '.join(map(str, places))} in place of {' '.join(map(str, asked))}"
    return None


def _place(row: Tensor, right: Tensor) -> int:
    """Which of the right slices a slice is, the first that it may be; -1 for none."""
    return next((place for place in range(len(right)) if _close(row, right[place])), -1)


def _reordered(mine: Tensor, right: Tensor, dims: str, sizes: Mapping[str, int]) -> str | None:
    """All the right numbers, read in another order of dims."""
    if not _close(mine.flatten().sort().values, right.flatten().sort().values):
        return None
    if mine.shape == right.shape and float((mine - right).abs().max()) < _FAR * float(
        right.abs().max()
    ):
        return (
            None  # numbers that are all a little off are, in order, close to the right ones as well
        )
    letters, lengths = _apart(dims, right.shape, sizes)
    if len(letters) > 5:
        return None
    laid = right.reshape(lengths)
    for order in permutations(range(len(lengths))):
        if list(order) == sorted(order) and mine.shape == right.shape:
            continue
        if _close(mine.flatten(), laid.permute(order).flatten()):
            if list(order) == sorted(order):
                return "it holds the right numbers in the right order, under another shape"
            names = ", ".join(letters[index] for index in order)
            return f"it holds the right numbers laid out as [{names}] where [{', '.join(letters)}] is asked: an axis was viewed or merged without the transpose"
    return "it holds the right numbers in another order"
