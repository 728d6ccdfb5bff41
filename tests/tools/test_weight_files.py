"""Tests of reading attention weights from files."""

import pickle
from pathlib import Path

import numpy
import pytest
import torch
from safetensors.torch import save_file

from attn_drill.model.errors import DrillError
from attn_drill.tools.attention_heads import MOST_BYTES, read_weights
from tests.support.tools import random_weights


@pytest.mark.parametrize("dtype", [torch.float64, torch.float16, torch.bfloat16], ids=str)
def test_safetensors_are_read(tmp_path: Path, dtype: torch.dtype) -> None:
    """layer.10 comes after layer.9. Tensors of other shapes and dtypes are left out."""
    tensors = {f"layer.{layer}": random_weights(2, seed=layer).to(dtype) for layer in (10, 9)}
    others = {"bias": torch.zeros(4), "ids": torch.zeros(3, 3, dtype=torch.int64)}
    path = tmp_path / "w.safetensors"
    save_file({**tensors, **others}, path)
    read = read_weights(path)
    assert list(read) == ["layer.9", "layer.10"]
    assert all(torch.equal(read[name], tensors[name]) for name in tensors)
    assert list(read_weights(path, "layer.10")) == ["layer.10"]


def test_numpy_files_are_read(tmp_path: Path) -> None:
    """A .npz file has arrays by name, and a .npy file has one array without a name."""
    array = random_weights(2, 3).numpy()
    numpy.save(tmp_path / "w.npy", numpy.asfortranarray(array))
    numpy.savez_compressed(tmp_path / "w.npz", attn=array, other=numpy.zeros((3, 4)))
    assert numpy.array_equal(read_weights(tmp_path / "w.npy")[""], array)
    assert list(read_weights(tmp_path / "w.npz")) == ["attn"]


class FailsWhenUnpickled:
    """An object that fails the test when it is unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        """Return the call that a pickle would make."""
        return pytest.fail, ("a pickle was read",)


def write_bad(path: Path, kind: str) -> None:
    """Write a file that cannot be read."""
    match kind:
        case "folder":
            path.mkdir()
        case "empty":
            path.touch()
        case "pickle":
            path.write_bytes(pickle.dumps(FailsWhenUnpickled()))
        case "objects":
            with path.open("wb") as file:
                numpy.save(file, numpy.array([FailsWhenUnpickled()], dtype=object))
        case "large":
            with path.open("wb") as file:
                file.truncate(MOST_BYTES + 1)
        case "cut":
            with path.open("wb") as file:
                numpy.save(file, random_weights(2).numpy())
                file.truncate(file.tell() - 80)


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        ("missing", r"bad\.npy cannot be read as .*: No such file or directory\. Save the output"),
        ("folder", "Is a directory"),
        ("empty", "No data left in file"),
        ("pickle", "pickled"),
        ("objects", "Object arrays cannot be loaded"),
        ("large", "has 1,073,741,825 bytes; at most 1,073,741,824 are read"),
        ("cut", "cannot be read as"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, kind: str, says: str) -> None:
    """The message is one line, and no pickle is ever read."""
    write_bad(tmp_path / "bad.npy", kind)
    with pytest.raises(DrillError, match=says) as raised:
        read_weights(tmp_path / "bad.npy")
    assert len(str(raised.value).splitlines()) == 1


def test_damaged_safetensors_are_refused(tmp_path: Path) -> None:
    """The message has the reason."""
    path = tmp_path / "w.safetensors"
    path.write_bytes(b"no weights at all")
    with pytest.raises(DrillError, match=r"w\.safetensors cannot be read as .*header"):
        read_weights(path)


@pytest.mark.parametrize(
    ("array", "says"),
    [
        (numpy.zeros((2, 3, 5)), r"it has \[2, 3, 5\] float64\."),
        (numpy.zeros(4), r"it has \[4\] float64"),
        (numpy.zeros((0, 4, 4)), r"it has \[0, 4, 4\] float64"),
        (numpy.zeros((3, 3), dtype=bool), r"it has \[3, 3\] bool"),
    ],
    ids=["not square", "one dimension", "no heads", "a mask"],
)
def test_other_shapes_and_dtypes_are_refused(
    tmp_path: Path, array: numpy.ndarray, says: str
) -> None:
    """The message has the shape and the dtype."""
    numpy.save(tmp_path / "w.npy", array)
    with pytest.raises(DrillError, match=says):
        read_weights(tmp_path / "w.npy")


def test_file_of_torch_save_is_refused(tmp_path: Path) -> None:
    """It holds pickles."""
    torch.save(random_weights(2), tmp_path / "w.pt")
    with pytest.raises(DrillError, match=r"it has no tensor\. Save the output of softmax with"):
        read_weights(tmp_path / "w.pt")


def test_unknown_tensor_name_is_refused(tmp_path: Path) -> None:
    """The message has the names in the file."""
    path = tmp_path / "w.safetensors"
    save_file({"a": random_weights(2), "b": random_weights(2)}, path)
    with pytest.raises(DrillError, match=r"no tensor 'weights'; it has a, b\. Change --name"):
        read_weights(path, "weights")
