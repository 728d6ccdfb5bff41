"""Describe each head of given attention weights: its entropy, distance, class and a small picture.

Entropy is mean_i(-sum_j p_ij ln p_ij). Distance is sum_ij p_ij |i - j| / sum_ij p_ij. All sums are
in float64 over some rows at a time, so that a long head needs no more memory than a short head.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product

import torch
from torch import Tensor

from trainer.model.errors import DrillError

MOST_HEADS = 1 << 16
_ENTRIES_AT_ONCE = 1 << 22

Grid = tuple[tuple[float, ...], ...]


@dataclass(frozen=True)
class HeadFacts:
    """The facts about one head. A value that is not defined is NaN.

    Attributes:
        head_index: The index of the head among all heads of the file, from 0.
        tensor: The name of the tensor in the file, or "" if it has no name.
        index: The indices in the leading dimensions, for example (layer, batch, head). () for a
            single matrix.
        length: The sequence length L.
        entropy: The mean entropy over the queries, in nats.
        entropy_share: The entropy divided by ln L. NaN for L = 1.
        distance: The mean distance between query and key, in positions.
        kind: "positional", "global", "backward", "forward" or "mixed". "" if some weights are not
            finite.
        notes: Phrases that say how the weights are unlike attention weights.
        grid: The picture, queries by keys: means over blocks of weights, NaN for a block with a
            weight that is not finite. () if no picture was requested.
    """

    head_index: int
    tensor: str
    index: tuple[int, ...]
    length: int
    entropy: float
    entropy_share: float
    distance: float
    kind: str
    notes: tuple[str, ...] = ()
    grid: Grid = ()


def count_heads(tensors: Mapping[str, Tensor]) -> int:
    """Return the number of heads in all tensors [..., L, L].

    Raises:
        DrillError: If there are more than `MOST_HEADS` heads.
    """
    count = sum(math.prod(tensor.shape[:-2]) for tensor in tensors.values())
    if count > MOST_HEADS:
        raise DrillError(
            f"There are {count:,} heads; at most {MOST_HEADS:,} are shown. "
            "Save fewer heads, or choose a tensor with --name."
        )
    return count


def facts_of(
    tensors: Mapping[str, Tensor],
    heads: range,
    drawn: range,
    cells: Callable[[int], tuple[int, int]],
) -> Iterator[HeadFacts]:
    """Yield the facts about some heads, in order.

    Args:
        tensors: The floating-point tensors by name, each [..., L, L].
        heads: The indices of the heads, counted from 0 over all tensors.
        drawn: The indices of the heads that get a picture.
        cells: Returns the numbers of rows and columns of a picture for a length L.
    """
    first = 0
    for name, tensor in tensors.items():
        length = tensor.shape[-1]
        flat = tensor.reshape(-1, length, length)  # [N, L, L]
        indices = list(product(*map(range, tensor.shape[:-2])))
        at_once = max(1, _ENTRIES_AT_ONCE // length**2)
        stop = min(heads.stop - first, len(flat))
        for lowest in range(max(heads.start - first, 0), stop, at_once):
            block = flat[lowest : min(lowest + at_once, stop)]  # [n, L, L]
            measured = _measure(block)
            for position, head in enumerate(block):
                head_index = first + lowest + position
                sums = {sum_name: value[position] for sum_name, value in measured.items()}
                grid = _pooled(head, *cells(length)) if head_index in drawn else ()
                yield _facts(
                    head_index,
                    name,
                    indices[lowest + position],
                    length,
                    sums,
                    _tolerance(tensor.dtype),
                    grid,
                )
        first += len(flat)


def _tolerance(dtype: torch.dtype) -> float:
    """Return the allowed difference between the sum of a row and 1.

    Every weight is rounded to the dtype separately, so the sum is not exactly 1.
    """
    return max(1e-3, 2 * torch.finfo(dtype).eps)


def _measure(heads: Tensor) -> dict[str, Tensor]:
    """Return sums over each head of [n, L, L] by name: float64 [n], and [n, L] for `rows`."""
    length = heads.shape[-1]
    position = torch.arange(length)
    sums: dict[str, Tensor] = {}
    rows = []
    at_once = max(1, _ENTRIES_AT_ONCE // (length * len(heads)))
    for start in range(0, length, at_once):
        block = heads[:, start : start + at_once].to(torch.float64)  # [n, r, L]
        offset = position - position[start : start + at_once, None]  # [r, L], key minus query
        part = {
            "entropy": -torch.xlogy(block, block).sum((-2, -1)),
            "moved": (block * offset.abs()).sum((-2, -1)),
            "diagonal": block.diagonal(start, -2, -1).sum(-1),
            "first key": block[:, :, 0].sum(-1),
            "below": (block.tril(start - 1)).sum((-2, -1)),
            "above": (block.triu(start + 1)).sum((-2, -1)),
            "not finite": (~block.isfinite()).sum((-2, -1)),
            "negative": (block < 0).sum((-2, -1)),
        }
        sums = {name: value + sums.get(name, 0) for name, value in part.items()}
        rows.append(block.sum(-1))
    return {**sums, "rows": torch.cat(rows, dim=-1)}


def _facts(
    head_index: int,
    tensor: str,
    index: tuple[int, ...],
    length: int,
    sums: dict[str, Tensor],
    tolerance: float,
    grid: Grid,
) -> HeadFacts:
    entropy = float(sums["entropy"]) / length + 0.0  # never -0.0
    total = float(sums["rows"].sum())
    return HeadFacts(
        head_index=head_index,
        tensor=tensor,
        index=index,
        length=length,
        entropy=entropy,
        entropy_share=entropy / math.log(length) if length > 1 else math.nan,
        distance=float(sums["moved"]) / total if total else math.nan,
        kind=_kind({name: float(value) for name, value in sums.items() if name != "rows"}, length),
        notes=tuple(_notes(sums, length, tolerance)),
        grid=grid,
    )


def _kind(sums: dict[str, float], length: int) -> str:
    """Return the first class whose condition holds."""
    if sums["not finite"]:
        return ""
    if sums["diagonal"] / length > 0.5:
        return "positional"
    if sums["first key"] / length > 0.3:
        return "global"
    if sums["below"] > 2 * sums["above"]:
        return "backward"
    if sums["above"] > 2 * sums["below"]:
        return "forward"
    return "mixed"


def _notes(sums: dict[str, Tensor], length: int, tolerance: float) -> Iterator[str]:
    not_finite, negative = int(sums["not finite"]), int(sums["negative"])
    if not_finite:
        verb = "is" if not_finite == 1 else "are"
        yield f"{not_finite} of {length * length} weights {verb} not finite"
    if negative:
        verb = "is" if negative == 1 else "are"
        yield f"{negative} of {length * length} weights {verb} negative"
    rows = sums["rows"][sums["rows"].isfinite()]
    off = rows[(rows - 1).abs() > tolerance]
    if len(off):
        verb = "does" if len(off) == 1 else "do"
        span = _span(float(off.min()), float(off.max()))
        yield f"{len(off)} of {length} rows {verb} not sum to 1 ({span})"


def _span(low: float, high: float) -> str:
    least, most = f"{low:.4g}", f"{high:.4g}"
    return least if least == most else f"{least} to {most}"


def _pooled(head: Tensor, rows: int, columns: int) -> Grid:
    """Return the means over blocks of a matrix [L, L], in at most L rows and columns."""
    length = len(head)
    queries, keys = _averages(length, rows), _averages(length, columns)
    grid, broken = (torch.zeros(len(queries), len(keys), dtype=torch.float64) for _ in range(2))
    at_once = max(1, _ENTRIES_AT_ONCE // length)
    for start in range(0, length, at_once):
        values = head[start : start + at_once].to(torch.float64)  # [r, L]
        finite = values.isfinite()
        share = queries[:, start : start + at_once]
        # Replace NaN by 0 first: 0 times NaN would make every cell NaN.
        grid += share @ values.where(finite, 0) @ keys.T
        broken += share @ (~finite).to(torch.float64) @ keys.T
    return tuple(tuple(row) for row in grid.where(broken == 0, math.nan).tolist())


def _averages(length: int, blocks: int) -> Tensor:
    """Return a matrix [blocks, L] whose rows average over blocks of neighbouring positions.

    The lengths of the blocks differ by at most one position.
    """
    blocks = min(blocks, length)
    block = torch.arange(length) * blocks // length  # [L], the block of each position
    member = (block == torch.arange(blocks)[:, None]).to(torch.float64)
    return member / member.sum(-1, keepdim=True)
