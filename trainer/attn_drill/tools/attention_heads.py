"""Read saved attention weights, and describe each head: entropy, distance, class, a picture.

Entropy is mean_i(-sum_j p_ij ln p_ij). Distance is sum_ij p_ij |i - j| / sum_ij p_ij. All sums are
in float64.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from zipfile import BadZipFile

import numpy
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor
from torch.nn import functional

from attn_drill.model.errors import DrillError

MOST_BYTES, MOST_HEADS, MOST_POSITIONS = 1 << 30, 1 << 14, 1 << 13
Grid = tuple[tuple[float, ...], ...]
_SAVE = (
    'Save the output of softmax with safetensors.torch.save_file({"weights": w}, '
    '"weights.safetensors") or numpy.save("weights.npy", w).'
)


def read_weights(path: Path, name: str | None = None) -> dict[str, Tensor]:
    """Return the floating-point tensors of a file with the shape [..., L, L], or the named one.

    The only tensor of a .npy file has the name "". DrillError: there is no such tensor.
    """
    tensors = _load(path)
    if name is not None:
        if name not in tensors:
            names = ", ".join(filter(None, tensors)) or "no names"
            raise DrillError(f"{path} has no tensor {name!r}; it has {names}. Change --name.")
        tensors = {name: tensors[name]}
    fitting: list[str] = []
    shapes: list[str] = []
    for name, tensor in tensors.items():
        is_square = tensor.ndim >= 2 and tensor.shape[-1] == tensor.shape[-2]
        if is_square and tensor.numel() > 0 and tensor.is_floating_point():
            fitting.append(name)
        dtype = str(tensor.dtype).removeprefix("torch.")
        shapes.append(f"{name} {list(tensor.shape)} {dtype}".strip())
    if not fitting:
        more = f" and {len(shapes) - 6} more" if len(shapes) > 6 else ""
        raise DrillError(
            f"{path} has no floating-point tensor of the shape [..., L, L]: "
            f"it has {', '.join(shapes[:6]) or 'no tensor'}{more}. {_SAVE}"
        )
    # layer.10 comes after layer.9
    fitting.sort(key=lambda name: [part.zfill(9) for part in re.split(r"(\d+)", name)])
    return {name: tensors[name] for name in fitting}


def _load(path: Path) -> dict[str, Tensor]:
    """Return all tensors of a file. A .safetensors file is known by its name."""
    try:
        if (size := path.stat().st_size) > MOST_BYTES:
            raise DrillError(
                f"{path} has {size:,} bytes; at most {MOST_BYTES:,} are read. "
                "Save the weights of some layers only."
            )
        if path.suffix == ".safetensors":
            tensors: dict[str, Tensor] = load_file(path)
            return tensors
        with path.open("rb") as file:
            read = numpy.load(file, allow_pickle=False)
            if isinstance(read, numpy.ndarray):
                return {"": torch.from_numpy(read)}
            arrays = {name: read[name] for name in read.files}
            # torch.save writes zip files, too, but with pickles, which are no arrays here.
            return {
                name: torch.from_numpy(array)
                for name, array in arrays.items()
                if isinstance(array, numpy.ndarray)
            }
    except (OSError, ValueError, TypeError, EOFError, BadZipFile, SafetensorError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise DrillError(
            f"{path} cannot be read as .safetensors, .npy or .npz: {reason}. {_SAVE}"
        ) from None


@dataclass(frozen=True)
class Head:
    """The weights of one head in a file."""

    head_index: int  # among all heads of the file, from 0
    tensor: str  # the name of its tensor; "" if it has none
    index: tuple[int, ...]  # in the leading dimensions, for example (layer, batch, head)
    weights: Tensor  # [L, L]


@dataclass(frozen=True)
class HeadFacts:
    """The facts about one head. A value that is not defined is NaN."""

    head_index: int
    tensor: str
    index: tuple[int, ...]
    length: int
    entropy: float  # mean over the queries, in nats
    entropy_share: float  # the entropy divided by ln L; NaN for L = 1
    distance: float  # mean distance between query and key, in positions
    kind: str  # positional, global, backward, forward or mixed; "" if a weight is not finite
    notes: tuple[str, ...] = ()  # phrases that say how the weights are unlike attention weights
    # The picture, queries by keys: means over neighbouring weights, NaN where a weight is not
    # finite. () if no picture was wanted.
    grid: Grid = ()


def heads_of(tensors: Mapping[str, Tensor]) -> list[Head]:
    """Return the heads of tensors [..., L, L], in the order of tensors and leading dimensions."""
    count = sum(math.prod(tensor.shape[:-2]) for tensor in tensors.values())
    if count > MOST_HEADS:
        raise DrillError(
            f"There are {count:,} heads; at most {MOST_HEADS:,} are described. "
            "Save fewer heads, or choose a tensor with --name."
        )
    longest = max(tensor.shape[-1] for tensor in tensors.values())
    if longest > MOST_POSITIONS:
        raise DrillError(
            f"A head has {longest:,} positions; at most {MOST_POSITIONS:,} are described. "
            "Save the weights of a shorter sequence."
        )
    heads: list[Head] = []
    for name, tensor in tensors.items():
        for index in product(*map(range, tensor.shape[:-2])):
            heads.append(Head(len(heads), name, index, tensor[index]))
    return heads


def describe(head: Head, cells: Callable[[int], tuple[int, int]] | None = None) -> HeadFacts:
    """Return the facts about a head. `cells` gives the rows and columns of its picture for L."""
    weights = head.weights.to(torch.float64)
    length = len(weights)
    position = torch.arange(length)
    distances = (position - position[:, None]).abs_()
    entropy = float(-torch.xlogy(weights, weights).sum()) / length + 0.0  # never -0.0
    total = float(weights.sum())
    is_finite = weights.isfinite()
    grid: Grid = ()
    if cells is not None:  # means over neighbouring weights, in at most L rows and columns
        rows, columns = cells(length)
        size = min(rows, length), min(columns, length)
        pooled = functional.adaptive_avg_pool2d(weights.where(is_finite, math.nan)[None], size)
        grid = tuple(map(tuple, pooled[0].tolist()))
    return HeadFacts(
        head.head_index,
        head.tensor,
        head.index,
        length,
        entropy=entropy,
        entropy_share=entropy / math.log(length) if length > 1 else math.nan,
        distance=float((weights * distances).sum()) / total if total else math.nan,
        kind=_kind(weights) if is_finite.all() else "",
        # Every weight is rounded to its dtype separately, so a row does not sum to 1 exactly.
        notes=tuple(_notes(weights, max(1e-3, 2 * torch.finfo(head.weights.dtype).eps))),
        grid=grid,
    )


def _kind(weights: Tensor) -> str:
    below, above = float(weights.tril(-1).sum()), float(weights.triu(1).sum())
    if float(weights.diagonal().mean()) > 0.5:
        return "positional"
    if float(weights[:, 0].mean()) > 0.3:
        return "global"
    if below > 2 * above:
        return "backward"
    if above > 2 * below:
        return "forward"
    return "mixed"


def _notes(weights: Tensor, tolerance: float) -> Iterator[str]:
    for adjective, wrong in (("not finite", ~weights.isfinite()), ("negative", weights < 0)):
        if count := int(wrong.sum()):
            verb = "is" if count == 1 else "are"
            yield f"{count} of {weights.numel()} weights {verb} {adjective}"
    sums = weights.sum(-1)
    off = sums[sums.isfinite() & ((sums - 1).abs() > tolerance)]
    if len(off):
        verb = "does" if len(off) == 1 else "do"
        least, most = f"{float(off.min()):.4g}", f"{float(off.max()):.4g}"
        span = least if least == most else f"{least} to {most}"
        yield f"{len(off)} of {len(weights)} rows {verb} not sum to 1 ({span})"
