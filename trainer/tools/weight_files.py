"""Read attention weights from .safetensors, .npy and .npz files of up to 1 GiB.

Pickles are never read, because they can run code.
"""

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
_SAVE = (
    'Save the weights with safetensors.torch.save_file({"weights": w}, "weights.safetensors") '
    'or numpy.save("weights.npy", w).'
)
# The errors that the readers raise if the rest of a file does not match its first bytes. numpy
# parses headers as Python, which explains some of them.
_BROKEN = (
    *(SafetensorError, zipfile.BadZipFile, zlib.error, tokenize.TokenError),
    *(ValueError, SyntaxError, EOFError, NotImplementedError, RuntimeError, MemoryError, OSError),
)


@dataclass(frozen=True)
class _Entry:
    """A tensor of a file that is not loaded yet.

    Attributes:
        name: The name of the tensor, or "" in a .npy file.
        shape: The shape.
        dtype: The name of the dtype in the file.
        floating: True if the dtype is a supported floating-point type.
        load: Loads the tensor.
    """

    name: str
    shape: tuple[int, ...]
    dtype: str
    floating: bool
    load: Callable[[], Tensor]

    def __str__(self) -> str:
        return f"{self.name} {list(self.shape)} {self.dtype}".lstrip()


def read_weights(path: Path, name: str | None = None) -> dict[str, Tensor]:
    """Return the tensors of a file with the shape [..., L, L], by name.

    Args:
        path: The file.
        name: The name of a tensor. If given, only this tensor is read.

    Raises:
        DrillError: If the file does not exist, has another format, or has no tensor of this shape.
    """
    start = _start_of(path)
    try:
        entries = sorted(_entries(path, start), key=lambda entry: _in_order(entry.name))
        return {entry.name: entry.load() for entry in _suitable(path, entries, name)}
    except _BROKEN as error:
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DrillError(
            f"{path} is damaged or cut short: {reason}. Save it again, or copy it again completely."
        ) from None


def _in_order(name: str) -> list[str | int]:
    """Return a sort key that puts layer.10 after layer.9."""
    return [int(part) if part.isdigit() else part for part in re.split(r"([0-9]+)", name)]


def _start_of(path: Path) -> bytes:
    """Return the first 10 bytes of a file, or raise DrillError if the file must not be read."""
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
                f"{path} has {status.st_size:,} bytes; at most {MOST_BYTES:,} are read. "
                "Save some of its layers, or fewer sequences."
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
    """Yield the tensors of a file. The content decides the format, not the file name."""
    if start.startswith(npy.MAGIC_PREFIX):
        with path.open("rb") as file:
            yield _array(file, "", path.stat().st_size, path, partial(_opened, path))
    elif start.startswith(b"PK"):
        yield from _zipped(path)
    # A safetensors file begins with eight bytes for the header's length. The header is JSON.
    elif start[8:9] == b"{" or path.suffix == ".safetensors":
        yield from _safetensors(path)
    else:
        raise DrillError(
            f"{path} is neither .safetensors nor .npy nor .npz: it begins with {start!r}. {_SAVE}"
        )


def _safetensors(path: Path) -> Iterator[_Entry]:
    with safe_open(path, framework="pt") as file:
        for name in file.keys():  # noqa: SIM118 - file is no dict and cannot be iterated
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
                f"{path} is a zip file without a .npy file "
                f"(torch.save writes such files, and pickles are not read). {_SAVE}"
            )
        size = sum(info.file_size for info in arrays)
        if size > MOST_BYTES:
            raise DrillError(
                f"{path} unpacks to {size:,} bytes; at most {MOST_BYTES:,} are read. "
                "Save some of its layers, or fewer sequences."
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
    file: IO[bytes], name: str, size: int, path: Path, reopen: Callable[[], IO[bytes]]
) -> _Entry:
    """Return an array as described by its header.

    Refuse an array whose data is not complete: numpy would allocate the memory that a forged
    header announces.
    """
    version = npy.read_magic(file)
    read = npy.read_array_header_1_0 if version == (1, 0) else npy.read_array_header_2_0
    header: tuple[tuple[int, ...], bool, numpy.dtype[Any]] = read(file)
    shape, _, dtype = header
    label = f"{name} in {path}" if name else str(path)
    if dtype.hasobject:
        raise DrillError(
            f"{label} holds Python objects, which numpy pickles; "
            f"pickles are not read, because they run code. {_SAVE}"
        )
    announced, present = math.prod(shape) * dtype.itemsize, size - file.tell()
    if not 0 <= announced <= present:
        raise DrillError(
            f"{label} is cut short: {list(shape)} of {dtype} takes {announced:,} bytes, "
            f"but it has {present:,}. Save it again."
        )
    return _Entry(name, shape, str(dtype), dtype.kind == "f", partial(_loaded, reopen))


def _loaded(reopen: Callable[[], IO[bytes]]) -> Tensor:
    with reopen() as file:
        array = npy.read_array(file, allow_pickle=False)
    # torch has no long doubles and only the native byte order.
    kind = numpy.float64 if array.dtype.itemsize > 8 else array.dtype.newbyteorder("=")
    return torch.from_numpy(array.astype(kind, copy=False))


def _suitable(path: Path, entries: list[_Entry], name: str | None) -> list[_Entry]:
    """Return the entries that may be attention weights.

    If there are none, raise DrillError with a sentence about the entries of the file.
    """
    if name is not None:
        entries = [_named(path, entries, name)]
    fitting = [entry for entry in entries if not _unfit(entry)]
    if fitting:
        return fitting
    if len(entries) == 1:
        label = f"{entries[0].name} in {path}" if entries[0].name else str(path)
        raise DrillError(f"{label} {_unfit(entries[0])}")
    if not entries:
        raise DrillError(f"{path} holds no tensor. {_SAVE}")
    raise DrillError(
        f"None of the {len(entries)} tensors in {path} is attention weights [..., L, L]: "
        f"{_listed(map(str, entries), len(entries))}. {_SAVE}"
    )


def _named(path: Path, entries: list[_Entry], name: str) -> _Entry:
    names = [entry.name for entry in entries]
    if names == [""]:
        raise DrillError(
            f"{path} holds one array, which has no name; --name is {name!r}. Leave --name out."
        )
    if name not in names:
        near = difflib.get_close_matches(name, names, n=1)
        hint = f"Did you mean {near[0]}?" if near else f"It has {_listed(names, len(names))}."
        raise DrillError(f"{path} has no tensor {name!r}. {hint}")
    return entries[names.index(name)]


def _listed(words: Iterator[str] | list[str], count: int) -> str:
    """Return the first six words, and the number of the others."""
    shown = list(words)[:6]
    return ", ".join(shown) + (f" and {count - len(shown)} more" if count > len(shown) else "")


def _unfit(entry: _Entry) -> str:
    """Return the reason why an entry cannot be attention weights [..., L, L], or ""."""
    shape = list(entry.shape)
    if not entry.floating:
        return (
            f"holds {entry.dtype}; attention weights are float64, float32, float16 or "
            "(in .safetensors) bfloat16. Save the output of softmax."
        )
    if len(shape) < 2:
        dims = "dim" if len(shape) == 1 else "dims"
        return (
            f"has the shape {shape}, {len(shape)} {dims}; weights [..., L, L] have at least 2. "
            "Save the weights without a change of shape."
        )
    if shape[-1] != shape[-2]:
        return (
            f"has the shape {shape}: {shape[-2]} queries and {shape[-1]} keys; distance needs the "
            "same number of both. Save self-attention over one whole sequence."
        )
    if math.prod(shape) == 0:
        return f"has the shape {shape}, which is empty. {_SAVE}"
    return ""
