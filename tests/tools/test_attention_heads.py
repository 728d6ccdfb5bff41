"""Tests of the facts about attention heads, compared with the reference and with values by hand."""

import math
import pickle
from itertools import product
from pathlib import Path

import numpy
import pytest
import torch
from safetensors.torch import save_file

from attn_drill.model.errors import DrillError
from attn_drill.tools.attention_heads import MOST_BYTES, heads_of, read_weights
from tests.support.rows import each_row
from tests.support.tools import facts, random_weights, reference


def test_entropy_and_distance_by_hand() -> None:
    """Two queries attend to one key each, one query to two keys.

    Entropy is ln 2 / 3 nats, distance is (1 + 1 + 0.5) / 3 positions.
    """
    (head,) = facts([[0, 1, 0], [1, 0, 0], [0, 0.5, 0.5]])
    assert head.entropy == pytest.approx(math.log(2) / 3)
    assert head.entropy_share == pytest.approx(math.log(2) / 3 / math.log(3))
    assert head.distance == pytest.approx(2.5 / 3)
    assert (head.head_index, head.tensor, head.index, head.length, head.notes) == (0, "", (), 3, ())


@each_row(
    "weights, kind",
    {
        "diagonal 0.51": ([[0.51, 0.49], [0.49, 0.51]], "positional"),
        "diagonal 0.5, first key 0.5": ([[0.5, 0.5], [0.5, 0.5]], "global"),
        "first key 0.3": ([[0, 0, 0], [0.4, 0, 0], [0.5, 0.5, 0]], "backward"),
        "above only": ([[0, 0.5, 0.5], [0, 0.5, 0.5], [0, 0, 1]], "forward"),
        "above twice below": ([[0.3, 0.7, 0], [0, 0.3, 0.7], [0.2, 0.5, 0.3]], "mixed"),
    },
)
def test_class_is_the_first_whose_condition_holds(weights: list[list[float]], kind: str) -> None:
    """The bounds themselves are excluded."""
    assert facts(weights)[0].kind == kind


def test_facts_agree_with_the_reference() -> None:
    """The heads of several layers and batches are in the order of the leading dimensions.

    The first head leans to the diagonal, the second to the first key.
    """
    expected = reference("head_analysis")
    weights = random_weights(2, 3, 5)
    weights[0, 0, 0] = torch.softmax(8 * torch.eye(7, dtype=torch.float64), dim=-1)
    weights[0, 0, 1] = torch.softmax(torch.tensor([9.0] + [0.0] * 6).double().expand(7, 7), dim=-1)
    heads = facts(weights)
    assert [head.index for head in heads] == list(product(range(2), range(3), range(5)))
    assert [head.head_index for head in heads] == list(range(30))
    entropies = expected["attention_entropy"](weights).flatten()
    distances = expected["mean_attention_distance"](weights).flatten()
    assert numpy.allclose([head.entropy for head in heads], entropies)
    assert numpy.allclose([head.distance for head in heads], distances)
    kinds = [head.kind for head in heads]
    assert kinds == [expected["classify_head"](weights[head.index]) for head in heads]
    assert kinds[:2] == ["positional", "global"]


def test_picture_has_means_over_neighbouring_weights() -> None:
    """Short heads are shown whole."""
    weights = torch.arange(16, dtype=torch.float64).reshape(4, 4)
    (pooled,), (whole,) = facts(weights, size=2), facts(weights, size=9)
    assert pooled.grid == ((2.5, 4.5), (10.5, 12.5))
    assert numpy.allclose(whole.grid, weights)


@each_row(
    "change, says",
    {
        "NaN": ({(0, 1): math.nan}, ["1 of 16 weights is not finite"]),
        "infinite": (
            {(0, 1): math.inf, (2, 2): -math.inf},
            ["2 of 16 weights are not finite", "1 of 16 weights is negative"],
        ),
        "a row of 1.25": ({(3, 0): 0.5}, ["1 of 4 rows does not sum to 1 (1.25)"]),
        "two rows": ({(3, 0): 0.5, (0, 0): 0.0}, ["2 of 4 rows do not sum to 1 (0.75 to 1.25)"]),
        "within rounding": ({(3, 0): 0.2505}, []),
    },
)
def test_invalid_weights_are_noted(change: dict[tuple[int, int], float], says: list[str]) -> None:
    """There is a phrase with counts for each problem, and no error."""
    weights = torch.full((4, 4), 0.25, dtype=torch.float64)
    for index, value in change.items():
        weights[index] = value
    (head,) = facts(weights)
    assert list(head.notes) == says
    has_infinite = any(not math.isfinite(value) for value in change.values())
    assert (head.kind == "") == has_infinite
    assert math.isnan(head.grid[0][1]) == has_infinite


def test_rounded_weights_are_not_noted() -> None:
    """Rows of bfloat16 weights do not sum to 1 exactly. In float64, the same values are noted."""
    weights = random_weights(4, length=64).to(torch.bfloat16)
    assert not any(head.notes for head in facts(weights))
    assert any(head.notes for head in facts(weights.double()))


@pytest.mark.parametrize(
    ("shape", "says"),
    [
        ((16_385, 1, 1), "There are 16,385 heads; at most 16,384"),
        ((8193, 8193), "A head has 8,193 positions; at most 8,192"),
    ],
)
def test_too_many_or_too_long_heads_are_refused(shape: tuple[int, ...], says: str) -> None:
    """The message has both numbers."""
    with pytest.raises(DrillError, match=says):
        heads_of({"w": torch.zeros(()).expand(shape)})


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
