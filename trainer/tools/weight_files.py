"""Read attention weights from .safetensors, .npy and .npz. Never a pickle, and nothing larger than 1 GiB."""

from __future__ import annotations

import difflib
import math
import re
import stat
import tokenize
import zipfile
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO, Any

import numpy
import torch
from numpy.lib import format as npy
from safetensors import SafetensorError, safe_open
from torch import Tensor

from trainer.model.errors import DrillError

MOST_BYTES = 1 << 30
_SAVE = 'Save the weights with safetensors.torch.save_file({"weights": w}, "weights.safetensors") or numpy.save("weights.npy", w).'
# What the readers raise over a file that is not what its first bytes promise; numpy reads headers as Python
_BROKEN = (
    *(SafetensorError, zipfile.BadZipFile, zlib.error, tokenize.TokenError),
    *(ValueError, SyntaxError, EOFError, NotImplementedError, RuntimeError, MemoryError, OSError),
)


@dataclass(frozen=True)
class _Entry:
    """One tensor of a file, not yet read. `name` is "" in a .npy file."""

    name: str
    shape: tuple[int, ...]
    dtype: str
    floating: bool
    load: Callable[[], Tensor]

    def __str__(self) -> str:
        return f"{self.name} {list(self.shape)} {self.dtype}".lstrip()


def read_weights(path: Path, name: str | None = None) -> dict[str, Tensor]:
    """The tensors of a file that have the shape [..., L, L], by name; with `name` that one alone.

    Raises:
        DrillError: where there is no such file, it is no such format, or nothing in it has that shape.
    """
    start = _start_of(path)
    try:
        entries = sorted(_entries(path, start), key=lambda entry: _in_order(entry.name))
        return {entry.name: entry.load() for entry in _suitable(path, entries, name)}
    except _BROKEN as error:
        what = " ".join(str(error).split()) or type(error).__name__
        raise DrillError(
            f"{path} is damaged or cut short: {what}. Save it again, or copy it again in full."
        ) from None


def _in_order(name: str) -> list[str | int]:
    """So that layer.10 comes after layer.9."""
    return [int(part) if part.isdigit() else part for part in re.split(r"([0-9]+)", name)]


def _start_of(path: Path) -> bytes:
    """The first bytes of a file that may be read at all."""
    try:
        status = path.stat()
        if stat.S_ISDIR(status.st_mode):
            raise DrillError(f"{path} is a folder. Name the file with the weights in it.")
        if not stat.S_ISREG(status.st_mode):
            raise DrillError(
                f"{path} is not a regular file. Name a .safetensors, .npy or .npz file."
            )
        if status.st_size > MOST_BYTES:
            raise DrillError(
                f"{path} has {status.st_size:,} bytes; at most {MOST_BYTES:,} are read. Save some layers of it, or fewer sequences."
            )
        if status.st_size == 0:
            raise DrillError(f"{path} is empty. {_SAVE}")
        with path.open("rb") as file:
            return file.read(10)
    except FileNotFoundError:
        raise DrillError(f"There is no file {path}. Check the name. {_SAVE}") from None
    except OSError as error:
        raise DrillError(
            f"{path} cannot be read: {error.strerror or error}. Check its name and permissions."
        ) from None


def _entries(path: Path, start: bytes) -> Iterator[_Entry]:
    """What is in the file, told by its content and not by its name."""
    if start.startswith(npy.MAGIC_PREFIX):
        with path.open("rb") as file:
            yield _array(file, "", path.stat().st_size, path, partial(_opened, path))
    elif start.startswith(b"PK"):
        yield from _zipped(path)
    # A header's length in eight bytes, then the header, which is JSON
    elif start[8:9] == b"{" or path.suffix == ".safetensors":
        yield from _safetensors(path)
    else:
        raise DrillError(
            f"{path} is neither .safetensors nor .npy nor .npz: it begins with {start!r}. {_SAVE}"
        )


def _safetensors(path: Path) -> Iterator[_Entry]:
    with safe_open(path, framework="pt") as file:
        for name in file.keys():  # noqa: SIM118 - it is no dict and cannot be iterated over
            part = file.get_slice(name)
            kind = part.get_dtype()
            yield _Entry(
                name,
                tuple(part.get_shape()),
                kind,
                kind in ("F64", "F32", "F16", "BF16"),
                partial(_tensor, path, name),
            )


def _tensor(path: Path, name: str) -> Tensor:
    with safe_open(path, framework="pt") as file:
        tensor: Tensor = file.get_tensor(name)
    return tensor


def _zipped(path: Path) -> Iterator[_Entry]:
    with zipfile.ZipFile(path) as archive:
        arrays = [info for info in archive.infolist() if info.filename.endswith(".npy")]
        if not arrays:
            raise DrillError(
                f"{path} is a zip file without a .npy in it (torch.save writes such files, and pickles are not read). {_SAVE}"
            )
        size = sum(info.file_size for info in arrays)
        if size > MOST_BYTES:
            raise DrillError(
                f"{path} unpacks to {size:,} bytes; at most {MOST_BYTES:,} are read. Save some layers of it, or fewer sequences."
            )
        for info in arrays:
            with archive.open(info) as file:
                yield _array(
                    file,
                    info.filename.removesuffix(".npy"),
                    info.file_size,
                    path,
                    partial(_member, path, info.filename),
                )


def _opened(path: Path) -> IO[bytes]:
    return path.open("rb")


def _member(path: Path, name: str) -> IO[bytes]:
    return zipfile.ZipFile(path).open(name)


def _array(
    file: IO[bytes], name: str, size: int, path: Path, again: Callable[[], IO[bytes]]
) -> _Entry:
    """One array by its header; its data must be there in full, or numpy would make room for what a forged header announces."""
    version = npy.read_magic(file)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    header: tuple[tuple[int, ...], bool, numpy.dtype[Any]] = read(file)
    shape, _, dtype = header
    what = f"{name} in {path}" if name else str(path)
    if dtype.hasobject:
        raise DrillError(
            f"{what} holds Python objects, which numpy pickles; pickles are not read, because they run code. {_SAVE}"
        )
    announced, there = math.prod(shape) * dtype.itemsize, size - file.tell()
    if not 0 <= announced <= there:
        raise DrillError(
            f"{what} is cut short: {list(shape)} of {dtype} takes {announced:,} bytes, and {there:,} are there. Save it again."
        )
    return _Entry(name, shape, str(dtype), dtype.kind == "f", partial(_loaded, again))


def _loaded(again: Callable[[], IO[bytes]]) -> Tensor:
    with again() as file:
        array = npy.read_array(file, allow_pickle=False)
    # torch has neither the other byte order nor long doubles
    kind = numpy.float64 if array.dtype.itemsize > 8 else array.dtype.newbyteorder("=")
    return torch.from_numpy(array.astype(kind, copy=False))


def _suitable(path: Path, entries: list[_Entry], name: str | None) -> list[_Entry]:
    """The entries that may be attention weights, or a sentence about what there is instead."""
    if name is not None:
        entries = [_named(path, entries, name)]
    found = [entry for entry in entries if not _unfit(entry)]
    if found:
        return found
    if len(entries) == 1:
        label = f"{entries[0].name} in {path}" if entries[0].name else str(path)
        raise DrillError(f"{label} {_unfit(entries[0])}")
    if not entries:
        raise DrillError(f"{path} holds no tensor. {_SAVE}")
    raise DrillError(
        f"None of the {len(entries)} tensors in {path} is attention weights [..., L, L]: {_listed(map(str, entries), len(entries))}. {_SAVE}"
    )


def _named(path: Path, entries: list[_Entry], name: str) -> _Entry:
    names = [entry.name for entry in entries]
    if names == [""]:
        raise DrillError(
            f"{path} holds one array, which has no name; --name is {name!r}. Leave --name away."
        )
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1)
        there = f"Did you mean {near[0]}?" if near else f"It has {_listed(names, len(names))}."
        raise DrillError(f"{path} has no tensor {name!r}. {there}")
    return entries[names.index(name)]


def _listed(words: Iterator[str] | list[str], count: int) -> str:
    """The first six."""
    shown = list(words)[:6]
    return ", ".join(shown) + (f" and {count - len(shown)} more" if count > len(shown) else "")


def _unfit(entry: _Entry) -> str:
    """Why it cannot be attention weights [..., L, L], or "" if it can."""
    shape = list(entry.shape)
    if not entry.floating:
        return f"holds {entry.dtype}; attention weights are float64, float32, float16 or (in .safetensors) bfloat16. Save what softmax returned."
    if len(shape) < 2:
        return f"has the shape {shape}, {len(shape)} dim{'' if len(shape) == 1 else 's'}; weights [..., L, L] have at least 2. Save the weights as they are."
    if shape[-1] != shape[-2]:
        return f"has the shape {shape}: {shape[-2]} queries and {shape[-1]} keys; distance needs as many of both. Save self-attention over one whole sequence."
    if math.prod(shape) == 0:
        return f"has the shape {shape}, which holds nothing. {_SAVE}"
    return ""
