"""Tests of reading attention weights from files."""

import pickle
import struct
import zipfile
from pathlib import Path

import numpy
import pytest
import torch
from safetensors.torch import save_file

from tests.support.heads import random_weights
from trainer.model.errors import DrillError
from trainer.tools.weight_files import MOST_BYTES, read_weights


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str
)
def test_safetensors_are_read_in_every_dtype(tmp_path: Path, dtype: torch.dtype) -> None:
    """The weights are equal to those that were saved."""
    weights = random_weights(2, 3).to(dtype)
    save_file({"attn": weights}, tmp_path / "w.safetensors")
    read = read_weights(tmp_path / "w.safetensors")["attn"]
    assert read.dtype == dtype
    assert torch.equal(read, weights)


@pytest.mark.parametrize("kind", ["<f8", "<f4", "<f2", ">f4", "fortran", "longdouble"])
def test_npy_is_read_in_every_byte_order_and_layout(tmp_path: Path, kind: str) -> None:
    """Long doubles are read too."""
    array = random_weights(2, 3).numpy()
    saved = numpy.asfortranarray(array) if kind == "fortran" else array.astype(kind)
    numpy.save(tmp_path / "w.npy", saved)
    tensors = read_weights(tmp_path / "w.npy")
    assert numpy.array_equal(tensors[""].numpy(), saved)


@pytest.mark.parametrize("save", [numpy.savez, numpy.savez_compressed])
def test_npz_has_arrays_by_name(tmp_path: Path, save: object) -> None:
    """Arrays of another shape are left out."""
    save(tmp_path / "w.npz", attn=random_weights(2).numpy(), other=numpy.zeros((3, 4)))  # type: ignore[operator]
    assert list(read_weights(tmp_path / "w.npz")) == ["attn"]


def test_tensors_are_sorted_by_name_and_number(tmp_path: Path) -> None:
    """layer.10 comes after layer.9.

    A name selects one tensor. Tensors of other shapes are left out.
    """
    tensors = {f"layer.{layer}": random_weights(2, seed=layer) for layer in (10, 9)}
    save_file(
        {**tensors, "bias": torch.zeros(4), "ids": torch.zeros(3, 3, dtype=torch.int64)},
        tmp_path / "w.safetensors",
    )
    assert list(read_weights(tmp_path / "w.safetensors")) == ["layer.9", "layer.10"]
    assert list(read_weights(tmp_path / "w.safetensors", "layer.10")) == ["layer.10"]


class FailsWhenUnpickled:
    """An object that fails the test when it is unpickled."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        """Return the call that a pickle would make."""
        return pytest.fail, ("a pickle was read",)


def write_bad(folder: Path, kind: str) -> Path:
    """Write a file that is not a file of attention weights."""
    path = folder / "bad"
    weights = random_weights(2)
    match kind:
        case "folder":
            path.mkdir()
        case "empty":
            path.touch()
        case "text":
            path.write_text("no weights at all")
        case "pickle":
            path.write_bytes(pickle.dumps(FailsWhenUnpickled()))
        case "torch.save":
            torch.save(weights, path)
        case "objects":
            with path.open("wb") as file:
                numpy.save(file, numpy.array([FailsWhenUnpickled()], dtype=object))
        case "objects in npz":
            with path.open("wb") as file:
                numpy.savez(file, x=numpy.array([FailsWhenUnpickled()], dtype=object))
        case "huge":
            with path.open("wb") as file:
                file.truncate(MOST_BYTES + 1)
        case "unpacks huge":
            with (
                zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive,
                archive.open("x.npy", "w") as member,
            ):
                for _ in range(65):
                    member.write(bytes(1 << 24))
        case "cut npy" | "cut header" | "cut npz":
            (numpy.savez if kind == "cut npz" else numpy.save)(folder / "whole", weights.numpy())
            whole = next(folder.glob("whole*")).read_bytes()
            path.write_bytes(whole[:40] if kind == "cut header" else whole[:-80])
        case "forged npy":
            with path.open("wb") as file:
                numpy.lib.format.write_array_header_1_0(
                    file, {"descr": "<f8", "fortran_order": False, "shape": (1 << 40, 8, 8)}
                )
        case "open header":
            numpy.save(folder / "whole", weights.numpy())
            path.write_bytes(
                (folder / "whole.npy").read_bytes().replace(b"(2, 7, 7)", b"(2, 7, 7 ")
            )
        case "cut safetensors" | "cut safetensors header":
            save_file({"w": weights}, folder / "whole")
            whole = (folder / "whole").read_bytes()
            path.write_bytes(whole[:-8] if kind == "cut safetensors" else whole[:20])
        case "endless safetensors header":
            path.write_bytes(struct.pack("<Q", 1 << 62) + b"{}")
        case "device":
            return Path("/dev/zero")
    return path


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("kind", "says"),
    [
        pytest.param("missing", r"There is no file .*bad\. Check the name", id="missing"),
        pytest.param("folder", r"is a folder\. Name the file", id="folder"),
        pytest.param("empty", r"is empty\. Save the weights", id="empty"),
        pytest.param(
            "text",
            r"neither \.safetensors nor \.npy nor \.npz: it begins with b'no weights'",
            id="text",
        ),
        pytest.param("pickle", r"neither \.safetensors nor", id="pickle"),
        pytest.param(
            "torch.save", r"a zip file without a \.npy.*pickles are not read", id="torch.save"
        ),
        pytest.param(
            "objects", r"holds Python objects.*pickles are not read", id="pickled objects"
        ),
        pytest.param(
            "objects in npz", r"x in .*bad holds Python objects", id="pickled objects in npz"
        ),
        pytest.param("huge", r"has 1,073,741,825 bytes; at most 1,073,741,824", id="huge"),
        pytest.param(
            "unpacks huge",
            r"unpacks to 1,090,519,040 bytes; at most 1,073,741,824",
            id="unpacks to too much",
        ),
        pytest.param(
            "cut npy",
            r"cut short: \[2, 7, 7\] of float64 takes 784 bytes, but it has 704",
            id="cut npy",
        ),
        pytest.param("cut header", r"damaged or cut short", id="cut npy header"),
        pytest.param("open header", r"damaged or cut short", id="npy header without an end"),
        pytest.param("cut npz", r"damaged or cut short", id="cut npz"),
        pytest.param(
            "forged npy", r"takes 562,949,953,421,312 bytes, but it has 0", id="forged header"
        ),
        pytest.param("cut safetensors", r"damaged or cut short", id="cut safetensors"),
        pytest.param(
            "cut safetensors header", r"damaged or cut short", id="cut safetensors header"
        ),
        pytest.param(
            "endless safetensors header", r"damaged or cut short", id="endless safetensors header"
        ),
        pytest.param("device", r"not a regular file", id="device"),
    ],
)
def test_bad_files_are_refused(tmp_path: Path, kind: str, says: str) -> None:
    """The message is one line, and no pickle is ever read."""
    with pytest.raises(DrillError, match=says) as raised:
        read_weights(write_bad(tmp_path, kind))
    assert len(str(raised.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("array", "says"),
    [
        pytest.param(
            numpy.zeros((2, 3, 5)),
            r"has the shape \[2, 3, 5\]: 3 queries and 5 keys",
            id="not square",
        ),
        pytest.param(numpy.zeros(4), r"has the shape \[4\], 1 dim;", id="one dim"),
        pytest.param(numpy.zeros(()), r"has the shape \[\], 0 dims;", id="a number"),
        pytest.param(numpy.zeros((0, 4, 4)), r"\[0, 4, 4\], which is empty", id="no heads"),
        pytest.param(numpy.zeros((2, 0, 0)), r"\[2, 0, 0\], which is empty", id="no positions"),
        pytest.param(
            numpy.zeros((3, 3), dtype=numpy.int64),
            r"holds int64; attention weights are float64",
            id="integers",
        ),
        pytest.param(numpy.zeros((3, 3), dtype=bool), r"holds bool", id="a mask"),
        pytest.param(numpy.zeros((3, 3), dtype=complex), r"holds complex128", id="complex"),
    ],
)
def test_arrays_of_other_shapes_and_dtypes_are_refused(
    tmp_path: Path, array: numpy.ndarray, says: str
) -> None:
    """The message has the shape or the dtype."""
    numpy.save(tmp_path / "w.npy", array)
    with pytest.raises(DrillError, match=says):
        read_weights(tmp_path / "w.npy")


def test_file_without_fitting_tensors_is_refused(tmp_path: Path) -> None:
    """The message has the names and shapes of the first six tensors."""
    save_file(
        {f"t{index}": torch.zeros(index + 1, index + 2) for index in range(8)},
        tmp_path / "w.safetensors",
    )
    with pytest.raises(
        DrillError,
        match=(
            r"None of the 8 tensors in .*: t0 \[1, 2\] F32, t1 \[2, 3\] F32.*"
            r"t5 \[6, 7\] F32 and 2 more"
        ),
    ):
        read_weights(tmp_path / "w.safetensors")
    with pytest.raises(DrillError, match=r"t3 in .* has the shape \[4, 5\]: 4 queries and 5 keys"):
        read_weights(tmp_path / "w.safetensors", "t3")


@pytest.mark.parametrize(
    ("tensors", "name", "says"),
    [
        pytest.param(
            {"attention": 2},
            "atention",
            r"no tensor 'atention'\. Did you mean attention\?",
            id="nearly",
        ),
        pytest.param(
            {"a": 2, "b": 2}, "weights", r"no tensor 'weights'\. It has a, b\.", id="not at all"
        ),
        pytest.param({}, None, r"holds no tensor", id="none there"),
    ],
)
def test_unknown_tensor_name_is_refused(
    tmp_path: Path, tensors: dict[str, int], name: str | None, says: str
) -> None:
    """The message has the names in the file."""
    save_file(
        {known: random_weights(count) for known, count in tensors.items()},
        tmp_path / "w.safetensors",
    )
    with pytest.raises(DrillError, match=says):
        read_weights(tmp_path / "w.safetensors", name)


def test_name_for_a_npy_file_is_refused(tmp_path: Path) -> None:
    """A .npy file holds one array without a name."""
    numpy.save(tmp_path / "w.npy", random_weights().numpy())
    with pytest.raises(DrillError, match="Leave --name out"):
        read_weights(tmp_path / "w.npy", "weights")
