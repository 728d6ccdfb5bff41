"""Read attention weights from .safetensors, .npy and .npz files.

Pickles are never read, because they can run code.
"""

from __future__ import annotations

import re
from pathlib import Path
from zipfile import BadZipFile

import numpy
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from torch import Tensor

from attn_drill.model.errors import DrillError

MOST_BYTES = 1 << 30
_SAVE = (
    'Save the output of softmax with safetensors.torch.save_file({"weights": w}, '
    '"weights.safetensors") or numpy.save("weights.npy", w).'
)


def read_weights(path: Path, name: str | None = None) -> dict[str, Tensor]:
    """Return the floating-point tensors of a file with the shape [..., L, L], by name.

    The only tensor of a .npy file has the name "". With `name`, return only this tensor.

    Raises:
        DrillError: if the file cannot be read, or has no such tensor.
    """
    tensors = _load(path)
    if name is not None:
        if name not in tensors:
            names = ", ".join(filter(None, tensors)) or "no names"
            raise DrillError(f"{path} has no tensor {name!r}; it has {names}. Change --name.")
        tensors = {name: tensors[name]}
    fitting = [name for name, tensor in tensors.items() if _is_attention(tensor)]
    if not fitting:
        shapes = [
            f"{name} {list(tensor.shape)} {str(tensor.dtype).removeprefix('torch.')}".strip()
            for name, tensor in tensors.items()
        ]
        more = f" and {len(shapes) - 6} more" if len(shapes) > 6 else ""
        raise DrillError(
            f"{path} has no floating-point tensor of the shape [..., L, L]: "
            f"it has {', '.join(shapes[:6]) or 'no tensor'}{more}. {_SAVE}"
        )
    # layer.10 comes after layer.9
    fitting.sort(key=lambda name: [part.zfill(9) for part in re.split(r"(\d+)", name)])
    return {name: tensors[name] for name in fitting}


def _is_attention(tensor: Tensor) -> bool:
    shape = tensor.shape
    is_square = len(shape) >= 2 and shape[-1] == shape[-2]
    return is_square and tensor.numel() > 0 and tensor.is_floating_point()


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
            # torch.save writes zip files, too, but with pickles, which are no arrays here.
            arrays = [(name, read[name]) for name in read.files]
            return {
                name: torch.from_numpy(array)
                for name, array in arrays
                if isinstance(array, numpy.ndarray)
            }
    except (OSError, ValueError, TypeError, EOFError, BadZipFile, SafetensorError) as error:
        reason = getattr(error, "strerror", None) or " ".join(str(error).split())
        raise DrillError(
            f"{path} cannot be read as .safetensors, .npy or .npz: {reason}. {_SAVE}"
        ) from None
