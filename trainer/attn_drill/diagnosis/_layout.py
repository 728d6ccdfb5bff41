"""Decide if two tensors hold the same values in another layout.

A layout may permute dims, and split or merge axes in the usual order. A layout is honest if every
axis of the first tensor is a product of whole axes of the second: `[B, L, (H D)]` and
`[B, H, L, D]`. Memory that is read under another shape, so that tokens mix with heads, is not an
honest layout.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import combinations, islice, permutations, product

import torch
from torch import Tensor

# Operations that only change the layout of their input.
LAYOUTS = frozenset(
    "view _unsafe_view reshape permute transpose t expand unsqueeze squeeze clone detach alias "
    "contiguous unflatten flatten return _to_copy movedim".split()
)

HIDDEN = 1e6  # a mask filled in every score beyond this value
_TOLERANCE = 2e-4
_FEW = 3  # a tensor with fewer distinct values cannot be recognised
_MOST_LOOKED_AT = 8  # the first entries often show enough distinct values, and that it is no mask
_MOST_TRIES = 200
_MOST_LOOKS = 20_000  # pairs of splits of two shapes that are considered
_MOST_AXES = 6  # after all splits
# The order in which letters are merged into one axis: batch, heads, group, positions, features.
_RANKS = {"B": 0, "H": 1, "Hkv": 1, "G": 2, "D": 4, "Dv": 4, "Dn": 4, "Dr": 4, "M": 4}


def features(tensor: Tensor) -> tuple[float, ...] | None:
    """Return figures that a change of layout does not alter.

    Returns None if the tensor has too few distinct values to be recognised.
    """
    flat = tensor.detach().to(torch.float64).flatten()
    first = flat[:_MOST_LOOKED_AT].tolist()
    is_telling = len(set(first)) >= _FEW and any(
        abs(entry) < HIDDEN and entry not in (0.0, 1.0) for entry in first
    )
    if not is_telling and (pattern := pattern_of(tensor)) is not None:
        share = float(pattern.to(torch.float64).mean())
        share = min(share, 1 - share)
        return (share, share, 1.0, 0.0, -1.0) if share else None
    size = flat.abs()
    hidden = 0.0
    if not flat.numel() or not float(size.max()) < HIDDEN:
        is_visible = size < HIDDEN
        hidden = 1 - float(is_visible.to(torch.float64).mean())
        flat, size = flat[is_visible], size[is_visible]
    if not flat.numel() or (not is_telling and len(torch.unique(flat)) < _FEW):
        return None
    return (
        float(size.mean()),
        math.sqrt(float(torch.dot(flat, flat)) / flat.numel()),
        float(size.max()),
        float(flat.mean()),
        hidden,
    )


def pattern_of(tensor: Tensor) -> Tensor | None:
    """Return a mask in any notation as booleans; None for other tensors.

    The notations are True and False, 1 and 0, and 0 and -inf.
    """
    if tensor.dtype == torch.bool:
        return tensor
    hidden = ~(tensor.abs() < HIDDEN)
    if bool((hidden | (tensor == 0)).all()):
        return hidden
    return tensor != 0 if bool(((tensor == 0) | (tensor == 1)).all()) else None


class Core:
    """Values and pattern of a tensor, without axes along which nothing changes.

    A change of layout does not alter them. They are computed once and compared often.
    """

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor
        self.entries = tensor.numel()

    @cached_property
    def values(self) -> Tensor:
        """The entries."""
        return _without_copies(self._tensor)

    @cached_property
    def pattern(self) -> Tensor | None:
        """The hidden entries of a mask in any notation; None for other tensors."""
        pattern = pattern_of(self._tensor)
        return None if pattern is None else _without_copies(pattern)


def _without_copies(tensor: Tensor) -> Tensor:
    """Return a tensor without axes of size 1 and without axes along which all slices are equal."""
    for axis in reversed(range(tensor.dim())):
        first = tensor.narrow(axis, 0, 1)
        if tensor.shape[axis] == 1 or (
            tensor.numel()
            and torch.equal(first.expand_as(tensor).nan_to_num(), tensor.nan_to_num())
        ):
            tensor = first.squeeze(axis)
    return tensor


def hold_same_values(
    core: Core, other: Core, sizes: Mapping[str, int], *, may_swap: bool = True
) -> bool:
    """Return whether two tensors are the same in an honest layout. Empty tensors never are.

    Args:
        may_swap: whether axes of equal size may be swapped.
    """
    if not core.entries or not other.entries:
        return False
    if core.pattern is not None and other.pattern is not None:
        # The axes of a complement may not be swapped: the complement of a strictly causal mask with
        # keys and queries swapped is the causal mask, which is another mask.
        return _same_values(core.pattern, other.pattern, sizes, may_swap) or _same_values(
            ~core.pattern, other.pattern, sizes, False
        )
    return _same_values(core.values, other.values, sizes, may_swap)


def _same_values(tensor: Tensor, other: Tensor, sizes: Mapping[str, int], may_swap: bool) -> bool:
    if tensor.numel() != other.numel():
        return False
    if tensor.shape == other.shape and equal(tensor, other):
        return True
    layouts = layouts_of_shape(other, tuple(tensor.shape), sizes, may_swap=may_swap)
    return any(equal(tensor, layout) for layout in layouts)


def equal(tensor: Tensor, other: Tensor) -> bool:
    """Return whether two tensors of one shape are equal up to rounding.

    Integers are not rounded, so they must be exactly equal. Entries that a mask has filled in count
    as equal, however large they are.
    """
    if not tensor.is_floating_point() and not other.is_floating_point():
        return torch.equal(tensor.to(torch.int64), other.to(torch.int64))
    tensor, other = tensor.to(torch.float64), other.to(torch.float64)
    # The greatest difference alone decides most comparisons.
    if (most := float(other.abs().max())) < HIDDEN:
        worst = float((tensor - other).abs().max())
        if worst > 2 * _TOLERANCE * most:
            return False
        if worst <= _TOLERANCE * float(other.pow(2).mean().sqrt()):
            return True
    hidden = ~(tensor.abs() < HIDDEN)
    if not torch.equal(hidden, ~(other.abs() < HIDDEN)):
        return False
    tensor, other = tensor.masked_fill(hidden, 0.0), other.masked_fill(hidden, 0.0)
    room = _TOLERANCE * (other.abs() + other.pow(2).mean().sqrt())
    return bool(((tensor - other).abs() <= room).all())


def layouts_of_shape(
    tensor: Tensor, shape: tuple[int, ...], sizes: Mapping[str, int], *, may_swap: bool = True
) -> Iterator[Tensor]:
    """Yield a tensor in every honest layout of this shape; axes of equal size may be swapped."""
    letters = tuple(sizes.items())
    pieces = [_splits(size, letters) for size in tensor.shape]
    wanted_pieces = [_splits(size, letters) for size in shape]
    if max(math.prod(map(len, some)) for some in (pieces, wanted_pieces)) > _MOST_LOOKS:
        return
    splits = sorted(product(*pieces), key=lambda parts: sum(map(len, parts)))
    tries = 0
    for split, wanted in islice(product(splits, product(*wanted_pieces)), _MOST_LOOKS):
        atoms = [size for part in split for size in part]
        if sorted(atoms) != sorted(size for part in wanted for size in part):
            continue
        if len(atoms) > max(len(split), len(wanted)):  # axes of both tensors are split
            continue
        for order in _orders(atoms, wanted, may_swap):
            tries += 1
            if tries > _MOST_TRIES:
                return
            yield tensor.reshape(atoms).permute(order).reshape(shape)


@lru_cache(maxsize=4096)
def _splits(size: int, sizes: tuple[tuple[str, int], ...]) -> list[tuple[int, ...]]:
    """Return the ways to split an axis: unsplit, or two or three letters in their usual order."""
    splits: list[tuple[int, ...]] = [(size,)]
    letters = dict(sizes)
    if letters.get("H") and letters.get("Hkv"):
        letters.setdefault("G", letters["H"] // letters["Hkv"])
    ranked = sorted(
        (_RANKS.get(name, 3), value) for name, value in letters.items() if 1 < value < size
    )
    for count in (2, 3):
        for chosen in permutations(ranked, count):
            ranks = [rank for rank, _ in chosen]
            # Positions are merged with the batch alone.
            if 3 in ranks and not (count == 2 and ranks[0] == 0):
                continue
            # An axis that has a letter of this size is not merged with the batch.
            if 0 in ranks and size in letters.values():
                continue
            if ranks == sorted(ranks) and math.prod(value for _, value in chosen) == size:
                splits.append(tuple(value for _, value in chosen))
    return list(dict.fromkeys(splits))


def _orders(
    atoms: Sequence[int], wanted: Sequence[Sequence[int]], may_swap: bool
) -> Iterator[tuple[int, ...]]:
    """Yield the permutations of the atoms that have the wanted sizes, merged axes in order."""
    if len(atoms) > _MOST_AXES:
        return
    sizes = [size for part in wanted for size in part]
    for order in permutations(range(len(atoms))):
        if [atoms[axis] for axis in order] != sizes:
            continue
        axes = iter(order)
        groups = [list(islice(axes, len(part))) for part in wanted]
        if any(group != sorted(group) for group in groups):
            continue
        pairs = combinations(order, 2)
        if may_swap or all(axis < later or atoms[axis] != atoms[later] for axis, later in pairs):
            yield order
