"""What each head of given attention weights does: entropy, distance, class, and a small picture of it.

Entropy is mean_i(-sum_j p_ij ln p_ij), distance sum_ij p_ij |i - j| / sum_ij p_ij. All is summed in float64, some rows at a time: a long head
needs no more memory than a short one.
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
    """One head in plain numbers; NaN where a number is not defined.

    number         counts the heads of a file from 0
    tensor         its name in the file, "" where it has none
    index          of the leading dims, e.g. (layer, batch, head); () for a single matrix
    length         L
    entropy        nats, the mean over the queries
    entropy_share  of ln L; NaN for L = 1
    distance       positions
    kind           "positional", "global", "backward", "forward" or "mixed"; "" where weights are not finite
    notes          what about it is unlike attention weights, a phrase each
    grid           means over blocks, queries by keys, NaN where a weight is not finite; () where no picture was asked for
    """

    number: int
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
    """How many heads the tensors [..., L, L] hold together.

    Raises:
        DrillError: where they are too many to be told one by one.
    """
    count = sum(math.prod(tensor.shape[:-2]) for tensor in tensors.values())
    if count > MOST_HEADS:
        raise DrillError(
            f"There are {count:,} heads; at most {MOST_HEADS:,} are told. Save a part of them, or pick a tensor with --name."
        )
    return count


def facts_of(
    tensors: Mapping[str, Tensor],
    told: range,
    drawn: range,
    cells: Callable[[int], tuple[int, int]],
) -> Iterator[HeadFacts]:
    """The facts of the heads whose numbers are in `told`, in order.

    Args:
        tensors: by name, each [..., L, L] and floating.
        told: numbers of heads, counted over all tensors.
        drawn: numbers of those that get a picture.
        cells: from a length to rows and columns of its picture.
    """
    first = 0
    for name, tensor in tensors.items():
        length = tensor.shape[-1]
        flat = tensor.reshape(-1, length, length)  # [N, L, L]
        indices = list(product(*map(range, tensor.shape[:-2])))
        at_once = max(1, _ENTRIES_AT_ONCE // length**2)
        stop = min(told.stop - first, len(flat))
        for lowest in range(max(told.start - first, 0), stop, at_once):
            heads = flat[lowest : min(lowest + at_once, stop)]  # [n, L, L]
            measured = _measure(heads)
            for position, head in enumerate(heads):
                number = first + lowest + position
                sums = {what: value[position] for what, value in measured.items()}
                grid = _pooled(head, *cells(length)) if number in drawn else ()
                yield _facts(
                    number,
                    name,
                    indices[lowest + position],
                    length,
                    sums,
                    _tolerance(tensor.dtype),
                    grid,
                )
        first += len(flat)


def _tolerance(dtype: torch.dtype) -> float:
    """How far from 1 a row may sum: every weight is rounded to the dtype on its own."""
    return max(1e-3, 2 * torch.finfo(dtype).eps)


def _measure(heads: Tensor) -> dict[str, Tensor]:
    """Sums over each head of [n, L, L]: float64 [n], and `rows` [n, L]."""
    length = heads.shape[-1]
    position = torch.arange(length)
    found: dict[str, Tensor] = {}
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
        found = {what: value + found.get(what, 0) for what, value in part.items()}
        rows.append(block.sum(-1))
    return {**found, "rows": torch.cat(rows, dim=-1)}


def _facts(
    number: int,
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
        number=number,
        tensor=tensor,
        index=index,
        length=length,
        entropy=entropy,
        entropy_share=entropy / math.log(length) if length > 1 else math.nan,
        distance=float(sums["moved"]) / total if total else math.nan,
        kind=_kind({what: float(value) for what, value in sums.items() if what != "rows"}, length),
        notes=tuple(_notes(sums, length, tolerance)),
        grid=grid,
    )


def _kind(sums: dict[str, float], length: int) -> str:
    """The first class that holds."""
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
        yield f"{not_finite} of {length * length} weights {'is' if not_finite == 1 else 'are'} not finite"
    if negative:
        yield f"{negative} of {length * length} weights {'is' if negative == 1 else 'are'} negative"
    rows = sums["rows"][sums["rows"].isfinite()]
    off = rows[(rows - 1).abs() > tolerance]
    if len(off):
        yield f"{len(off)} of {length} rows {'does' if len(off) == 1 else 'do'} not sum to 1 ({_span(float(off.min()), float(off.max()))})"


def _span(low: float, high: float) -> str:
    least, most = f"{low:.4g}", f"{high:.4g}"
    return least if least == most else f"{least} to {most}"


def _pooled(head: Tensor, rows: int, columns: int) -> Grid:
    """The means over blocks of a matrix [L, L]: as many rows and columns as asked for, or L."""
    length = len(head)
    queries, keys = _averages(length, rows), _averages(length, columns)
    grid, broken = (torch.zeros(len(queries), len(keys), dtype=torch.float64) for _ in range(2))
    at_once = max(1, _ENTRIES_AT_ONCE // length)
    for start in range(0, length, at_once):
        values = head[start : start + at_once].to(torch.float64)  # [r, L]
        finite = values.isfinite()
        share = queries[:, start : start + at_once]
        # 0 times NaN would be NaN in every cell
        grid += share @ values.where(finite, 0) @ keys.T
        broken += share @ (~finite).to(torch.float64) @ keys.T
    return tuple(tuple(row) for row in grid.where(broken == 0, math.nan).tolist())


def _averages(length: int, blocks: int) -> Tensor:
    """[blocks, L]: each row averages over one block of neighbours; blocks differ by one position at most."""
    blocks = min(blocks, length)
    block = torch.arange(length) * blocks // length  # [L], the block of each position
    member = (block == torch.arange(blocks)[:, None]).to(torch.float64)
    return member / member.sum(-1, keepdim=True)
