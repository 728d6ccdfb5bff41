"""Whether two tensors hold the same values in another layout: dims permuted, axes taken apart or merged in the usual order.

A layout is honest where every axis of one is a product of whole axes of the other: `[B, L, (H D)]` beside `[B, H, L, D]`. Memory
read under another shape, so that tokens mix with heads, is none.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from itertools import permutations, product

import torch
from torch import Tensor

# Operations that only lay their input out anew.
LAYOUTS = frozenset(
    "view _unsafe_view reshape permute transpose t expand unsqueeze squeeze clone detach alias contiguous unflatten flatten return _to_copy movedim".split()
)

HIDDEN = 1e6  # a score beyond this was filled in by a mask
_TOLERANCE = 2e-4
_FEW = 3  # fewer distinct values say nothing
_MOST_LOOKED_AT = 8  # entries that often tell already that there are more, and that it is no mask
_MOST_TRIES = 200
_MOST_LOOKS = 20_000  # ways to take two shapes apart that are looked at
# The order in which letters are merged into one axis: batch, heads, group, positions, features.
_RANKS = {"B": 0, "H": 1, "Hkv": 1, "G": 2, "D": 4, "Dv": 4, "Dn": 4, "Dr": 4, "M": 4}


def features(tensor: Tensor) -> tuple[float, ...] | None:
    """Figures that a change of layout leaves as they are; None where the tensor says too little."""
    flat = tensor.detach().to(torch.float64).flatten()
    first = flat[:_MOST_LOOKED_AT].tolist()
    is_telling = len(set(first)) >= _FEW and any(
        abs(one) < HIDDEN and one not in (0.0, 1.0) for one in first
    )
    if not is_telling and (pattern := pattern_of(tensor)) is not None:
        share = float(pattern.to(torch.float64).mean())
        share = min(share, 1 - share)
        return (share, share, 1.0, 0.0, -1.0) if share else None
    size = flat.abs()
    hidden = 0.0
    if not flat.numel() or not float(size.max()) < HIDDEN:
        kept = size < HIDDEN
        hidden = 1 - float(kept.to(torch.float64).mean())
        flat, size = flat[kept], size[kept]
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
    """A mask, however it is written (True and False, 1 and 0, 0 and -inf), as booleans; None of other tensors."""
    if tensor.dtype == torch.bool:
        return tensor
    hidden = ~(tensor.abs() < HIDDEN)
    if bool((hidden | (tensor == 0)).all()):
        return hidden
    return tensor != 0 if bool(((tensor == 0) | (tensor == 1)).all()) else None


class Core:
    """What a layout leaves as it is: values and pattern without axes along which nothing changes. Looked at once, compared often."""

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor
        self.entries = tensor.numel()

    @cached_property
    def values(self) -> Tensor:
        """The entries."""
        return _without_copies(self._tensor)

    @cached_property
    def pattern(self) -> Tensor | None:
        """Of a mask, however it is written, which entries are hidden."""
        pattern = pattern_of(self._tensor)
        return None if pattern is None else _without_copies(pattern)


def same(one: Core, other: Core, sizes: Mapping[str, int], *, exchanging: bool = True) -> bool:
    """Whether `one` is `other` in an honest layout; empty tensors are nothing's. `exchanging`: axes of one size may have changed places."""
    if not one.entries or not other.entries:
        return False
    if one.pattern is not None and other.pattern is not None:
        # Who is hidden, with keys and queries exchanged as well, is who comes strictly before: another mask.
        return _same_values(
            one.pattern, other.pattern, sizes, exchanging=exchanging
        ) or _same_values(~one.pattern, other.pattern, sizes, exchanging=False)
    return _same_values(one.values, other.values, sizes, exchanging=exchanging)


def _same_values(
    one: Tensor, other: Tensor, sizes: Mapping[str, int], *, exchanging: bool = True
) -> bool:
    if one.numel() != other.numel():
        return False
    if one.shape == other.shape and equal(one, other):
        return True
    return any(
        equal(one, laid) for laid in _layouts(other, tuple(one.shape), sizes, exchanging=exchanging)
    )


def equal(one: Tensor, other: Tensor) -> bool:
    """Equal but for rounding, which integers know none of; what a mask has filled in is equal however large it is."""
    if not one.is_floating_point() and not other.is_floating_point():
        return torch.equal(one.to(torch.int64), other.to(torch.int64))
    one, other = one.to(torch.float64), other.to(torch.float64)
    if (
        most := float(other.abs().max())
    ) < HIDDEN:  # most are told by their greatest difference alone
        worst = float((one - other).abs().max())
        if worst > 2 * _TOLERANCE * most:
            return False
        if worst <= _TOLERANCE * float(other.pow(2).mean().sqrt()):
            return True
    hidden = ~(one.abs() < HIDDEN)
    if not torch.equal(hidden, ~(other.abs() < HIDDEN)):
        return False
    left, right = one.masked_fill(hidden, 0.0), other.masked_fill(hidden, 0.0)
    return bool(
        (
            (left - right).abs()
            <= _TOLERANCE * right.abs() + _TOLERANCE * right.pow(2).mean().sqrt()
        ).all()
    )


def _without_copies(tensor: Tensor) -> Tensor:
    """Without axes of size 1 and axes along which every slice is the same."""
    for axis in reversed(range(tensor.dim())):
        first = tensor.narrow(axis, 0, 1)
        if tensor.shape[axis] == 1 or (
            tensor.numel()
            and torch.equal(first.expand_as(tensor).nan_to_num(), tensor.nan_to_num())
        ):
            tensor = first.squeeze(axis)
    return tensor


def _layouts(
    tensor: Tensor, shape: tuple[int, ...], sizes: Mapping[str, int], *, exchanging: bool = True
) -> Iterator[Tensor]:
    """The tensor in every honest layout of this shape; `exchanging`: also with axes of one size in each other's place."""
    tries = looks = 0
    letters = tuple(sizes.items())
    pieces = [_splits(size, letters) for size in tensor.shape]
    others = [_splits(size, letters) for size in shape]
    if math.prod(map(len, pieces)) > _MOST_LOOKS:
        return
    for mine in sorted(product(*pieces), key=lambda split: sum(len(part) for part in split)):
        atoms = [piece for part in mine for piece in part]
        for theirs in product(*others):
            looks += 1
            if looks > _MOST_LOOKS:
                return
            wanted = [piece for part in theirs for piece in part]
            if sorted(wanted) != sorted(atoms) or (
                sum(map(len, mine)) > len(mine) and sum(map(len, theirs)) > len(theirs)
            ):
                continue
            groups = [len(part) for part in theirs]
            for order in _orders(atoms, wanted):
                if not _in_order(order, groups) or not (
                    exchanging or _keeps_order_of_equals(order, atoms)
                ):
                    continue
                tries += 1
                if tries > _MOST_TRIES:
                    return
                yield tensor.reshape(atoms).permute(order).reshape(shape)


@lru_cache(maxsize=4096)
def _splits(size: int, known: tuple[tuple[str, int], ...]) -> list[tuple[int, ...]]:
    """One axis as it is, or taken apart into two or three of the letters, in their usual order."""
    found: list[tuple[int, ...]] = [(size,)]
    letters = dict(known)
    if letters.get("H") and letters.get("Hkv"):
        letters.setdefault("G", letters["H"] // letters["Hkv"])
    ranked = sorted(
        (_RANKS.get(name, 3), value) for name, value in letters.items() if 1 < value < size
    )
    for count in (2, 3):
        for chosen in permutations(ranked, count):
            ranks = [rank for rank, _ in chosen]
            if 3 in ranks and not (
                count == 2 and ranks[0] == 0
            ):  # positions are merged with the batch alone
                continue
            if 0 in ranks and size in letters.values():  # an axis of its own is no batch
                continue
            if ranks == sorted(ranks) and math.prod(value for _, value in chosen) == size:
                found.append(tuple(value for _, value in chosen))
    return list(dict.fromkeys(found))


def _orders(atoms: Sequence[int], wanted: Sequence[int]) -> Iterator[tuple[int, ...]]:
    """Permutations of the atoms that give these sizes."""
    if len(atoms) > 6:
        return
    for order in permutations(range(len(atoms))):
        if all(atoms[index] == size for index, size in zip(order, wanted, strict=True)):
            yield order


def _keeps_order_of_equals(order: Sequence[int], atoms: Sequence[int]) -> bool:
    """Whether axes of one size stand in the order in which they stood."""
    return all(
        one < other or atoms[one] != atoms[other]
        for number, one in enumerate(order)
        for other in order[number + 1 :]
    )


def _in_order(order: Sequence[int], groups: Sequence[int]) -> bool:
    """Whether axes that are merged keep their order."""
    start = 0
    for count in groups:
        part = order[start : start + count]
        if list(part) != sorted(part):
            return False
        start += count
    return True
