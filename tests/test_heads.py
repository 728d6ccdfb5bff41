"""`heads`: facts against hand-made values and the reference, formats, bad input, and what is shown at which width."""

import importlib.util
import io
import json
import math
import pickle
import re
import struct
import subprocess
import sys
import zipfile
from itertools import product
from pathlib import Path
from types import ModuleType

import numpy
import pytest
import torch
from rich.console import Console
from safetensors.torch import save_file
from torch import Tensor

from tests.test_cli import drill
from trainer.model.errors import DrillError
from trainer.packs import pack_reader
from trainer.report.heads_page import cells, to_html
from trainer.report.heads_text import as_object, show_heads, small_cells, whole_cells
from trainer.tools import attention_heads as comparing
from trainer.tools.attention_heads import HeadFacts, count_heads, facts_of
from trainer.tools.weight_files import MOST_BYTES, read_weights


def exact(length: int) -> tuple[int, int]:
    """A cell for every weight."""
    return length, length


def facts(
    weights: Tensor | list[list[float]], name: str = "", size: int | None = None
) -> list[HeadFacts]:
    """The facts of one tensor, with pictures of `size` cells."""
    tensor = torch.tensor(weights, dtype=torch.float64) if isinstance(weights, list) else weights
    count = count_heads({name: tensor})
    return list(
        facts_of(
            {name: tensor},
            range(count),
            range(count),
            exact if size is None else lambda _: (size, size),
        )
    )


def random_weights(*leading: int, length: int = 7, seed: int = 0) -> Tensor:
    """Rows of a softmax, float64 [..., L, L]."""
    draw = torch.Generator().manual_seed(seed)
    return torch.softmax(
        2 * torch.randn(*leading, length, length, generator=draw, dtype=torch.float64), dim=-1
    )


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    """The reference of the challenge that asks for these measures."""
    path = pack_reader.built_in_pack() / "solutions" / "head_analysis" / "solution.py"
    spec = importlib.util.spec_from_file_location("head_analysis_solution", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_numbers_by_hand() -> None:
    """Two queries on one key each and one on two: ln 2 / 3 nats, (1 + 1 + 0.5) / 3 positions."""
    (one,) = facts([[0, 1, 0], [1, 0, 0], [0, 0.5, 0.5]])
    assert one.entropy == pytest.approx(math.log(2) / 3)
    assert one.entropy_share == pytest.approx(math.log(2) / 3 / math.log(3))
    assert one.distance == pytest.approx(2.5 / 3)
    assert (one.number, one.tensor, one.index, one.length, one.notes) == (0, "", (), 3, ())


@pytest.mark.parametrize(
    ("weights", "kind"),
    [
        pytest.param([[1, 0], [0.5, 0.5]], "positional", id="diagonal 0.75"),
        pytest.param([[0.51, 0.49], [0.49, 0.51]], "positional", id="diagonal 0.51"),
        pytest.param([[0, 1], [1, 0]], "global", id="first key 0.5"),
        pytest.param(
            [[0.5, 0.5], [0.5, 0.5]],
            "global",
            id="half is no positional head, then the first key counts",
        ),
        pytest.param(
            [[0, 0, 0], [0.4, 0, 0], [0.5, 0.5, 0]],
            "backward",
            id="the first key has 0.3, which is not above",
        ),
        pytest.param(
            [[0, 0.5, 0.5], [0, 0.5, 0.5], [0, 0, 1]], "forward", id="above the diagonal only"
        ),
        pytest.param(
            [[0.3, 0.7, 0], [0, 0.3, 0.7], [0.2, 0.5, 0.3]],
            "mixed",
            id="1.4 above is twice 0.7 below, and not more",
        ),
    ],
)
def test_classes_by_hand(weights: list[list[float]], kind: str) -> None:
    """The first class that holds, bounds excluded."""
    assert facts(weights)[0].kind == kind


@pytest.mark.parametrize(
    "leading", [(), (3,), (2, 3, 5)], ids=["one matrix", "heads", "layers, batch, heads"]
)
def test_the_same_as_the_reference(leading: tuple[int, ...], reference: ModuleType) -> None:
    """Entropy, distance and class of every head, in the order of the leading dims."""
    weights = random_weights(*leading)
    found = facts(weights)
    assert [one.index for one in found] == list(product(*map(range, leading)))
    assert [one.number for one in found] == list(range(len(found)))
    torch.testing.assert_close(
        torch.tensor([one.entropy for one in found], dtype=torch.float64),
        reference.attention_entropy(weights).flatten(),
    )
    torch.testing.assert_close(
        torch.tensor([one.distance for one in found], dtype=torch.float64),
        reference.mean_attention_distance(weights).flatten(),
    )
    assert [one.kind for one in found] == [
        reference.classify_head(weights[one.index]) for one in found
    ]


def test_the_classes_of_the_reference_all_come_up(reference: ModuleType) -> None:
    """Heads that lean to either side, to the diagonal and to the first key: five classes, each as the reference says."""
    position = torch.arange(7, dtype=torch.float64)
    ahead = position - position[:, None]
    leaning = [
        4.0 * -ahead.abs(),
        3 * -position.expand(7, 7),
        ahead,
        -ahead - 5 * (position == 0),
        0 * ahead,
    ]
    weights = torch.stack([torch.softmax(scores, dim=-1) for scores in leaning])
    kinds = [one.kind for one in facts(weights)]
    assert kinds == [reference.classify_head(head) for head in weights]
    assert set(kinds) == {"positional", "global", "forward", "backward", "mixed"}


def test_many_rows_come_in_parts(monkeypatch: pytest.MonkeyPatch, reference: ModuleType) -> None:
    """Heads and rows that are summed a few at a time give the same numbers and pictures."""
    weights = random_weights(5, length=11)
    weights[3] += 2 * torch.eye(11)  # positional, whatever the parts
    whole = facts(weights, size=4)
    for entries in (1, 30, 250):
        monkeypatch.setattr(comparing, "_ENTRIES_AT_ONCE", entries)
        for one, other in zip(facts(weights, size=4), whole, strict=True):
            assert one.entropy == pytest.approx(other.entropy)
            assert one.distance == pytest.approx(other.distance)
            assert (one.kind, one.index, one.notes) == (other.kind, other.index, other.notes)
            assert numpy.allclose(one.grid, other.grid)


def test_only_the_heads_that_are_asked_for() -> None:
    """Numbers run over all tensors, and only what is drawn has a grid."""
    tensors = {"a": random_weights(3), "b": random_weights(2, 2, seed=1)}
    found = list(facts_of(tensors, range(2, 6), range(4, 5), exact))
    assert [(one.number, one.tensor, one.index) for one in found] == [
        (2, "a", (2,)),
        (3, "b", (0, 0)),
        (4, "b", (0, 1)),
        (5, "b", (1, 0)),
    ]
    assert [bool(one.grid) for one in found] == [False, False, True, False]
    assert found[3].entropy == facts(tensors["b"])[2].entropy


def test_pooling_takes_means_over_blocks() -> None:
    """Five positions in two blocks of three and two: each cell is the mean of its block."""
    weights = torch.arange(25, dtype=torch.float64).reshape(5, 5)
    (one,) = list(facts_of({"": weights}, range(1), range(1), lambda _: (2, 3)))
    rows, columns = [slice(0, 3), slice(3, 5)], [slice(0, 2), slice(2, 4), slice(4, 5)]
    assert numpy.allclose(
        one.grid, [[float(weights[row, column].mean()) for column in columns] for row in rows]
    )


def test_a_short_head_is_not_pooled() -> None:
    """Where there is a cell for every weight the picture is the head."""
    weights = random_weights(length=5)
    assert numpy.allclose(facts(weights, size=9)[0].grid, weights)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        pytest.param({(0, 1): math.nan}, ["1 of 16 weights is not finite"], id="NaN"),
        pytest.param(
            {(0, 1): math.inf, (2, 2): -math.inf},
            ["2 of 16 weights are not finite", "1 of 16 weights is negative"],
            id="infinite",
        ),
        pytest.param({(1, 1): -0.25, (1, 2): 0.75}, ["1 of 16 weights is negative"], id="negative"),
        pytest.param({(3, 0): 0.5}, ["1 of 4 rows does not sum to 1 (1.25)"], id="a row of 1.25"),
        pytest.param(
            {(3, 0): 0.5, (0, 0): 0.0},
            ["2 of 4 rows do not sum to 1 (0.75 to 1.25)"],
            id="two rows",
        ),
        pytest.param({(3, 0): 0.2505}, [], id="within rounding"),
    ],
)
def test_what_is_no_attention_weight(change: dict[tuple[int, int], float], says: list[str]) -> None:
    """A phrase for each oddity, with counts, and no crash."""
    weights = torch.full((4, 4), 0.25, dtype=torch.float64)
    for place, value in change.items():
        weights[place] = value
    (one,) = facts(weights)
    assert list(one.notes) == says
    broken = any(not math.isfinite(value) for value in change.values())
    assert (one.kind == "") == broken
    assert math.isnan(one.grid[0][1]) == (broken and not math.isfinite(change[(0, 1)]))


def test_rounded_weights_are_no_oddity() -> None:
    """Rows of bfloat16 weights miss 1 by their rounding, which is not held against them; in float64 the same values are told."""
    weights = random_weights(4, length=64).to(torch.bfloat16)
    worst = float((weights.double().sum(-1) - 1).abs().max())
    assert worst > 1e-3
    assert not any(one.notes for one in facts(weights))
    assert any(one.notes for one in facts(weights.double()))


def test_one_position_and_no_weight() -> None:
    """L = 1 has no share of ln 1, all zeros have no distance: NaN, and null in JSON."""
    (single,) = facts([[1.0]])
    assert math.isnan(single.entropy_share)
    assert str(single.entropy) == "0.0"
    (nothing,) = facts([[0.0, 0.0], [0.0, 0.0]])
    assert math.isnan(nothing.distance)
    told = as_object([single, nothing], "w.npy")["heads"]
    assert told[0]["entropy_share"] is None
    assert told[1]["distance"] is None
    assert "nan" not in "".join(shown_lines([single, nothing], 80))


@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float32, torch.float16, torch.bfloat16], ids=str
)
def test_safetensors_of_every_dtype(tmp_path: Path, dtype: torch.dtype) -> None:
    """The weights come back as they were written."""
    weights = random_weights(2, 3).to(dtype)
    save_file({"attn": weights}, tmp_path / "w.safetensors")
    found = read_weights(tmp_path / "w.safetensors")["attn"]
    assert found.dtype == dtype
    assert torch.equal(found, weights)


@pytest.mark.parametrize("kind", ["<f8", "<f4", "<f2", ">f4", "fortran", "longdouble"])
def test_npy_of_every_kind(tmp_path: Path, kind: str) -> None:
    """Either byte order, either order of the axes."""
    array = random_weights(2, 3).numpy()
    saved = numpy.asfortranarray(array) if kind == "fortran" else array.astype(kind)
    numpy.save(tmp_path / "w.npy", saved)
    found = read_weights(tmp_path / "w.npy")
    assert numpy.array_equal(found[""].numpy(), saved)


@pytest.mark.parametrize("save", [numpy.savez, numpy.savez_compressed])
def test_npz(tmp_path: Path, save: object) -> None:
    """All arrays of the shape, by name; what has another is left out."""
    save(tmp_path / "w.npz", one=random_weights(2).numpy(), other=numpy.zeros((3, 4)))  # type: ignore[operator]
    assert list(read_weights(tmp_path / "w.npz")) == ["one"]


def test_tensors_in_their_order_and_one_by_name(tmp_path: Path) -> None:
    """layer.10 after layer.9; --name picks one; what has no such shape is left out."""
    tensors = {f"layer.{number}": random_weights(2, seed=number) for number in (10, 9)}
    save_file(
        {**tensors, "bias": torch.zeros(4), "ids": torch.zeros(3, 3, dtype=torch.int64)},
        tmp_path / "w.safetensors",
    )
    assert list(read_weights(tmp_path / "w.safetensors")) == ["layer.9", "layer.10"]
    assert list(read_weights(tmp_path / "w.safetensors", "layer.10")) == ["layer.10"]


class Bomb:
    """Whoever unpickles it fails the test."""

    def __reduce__(self) -> tuple[object, tuple[str]]:
        """What a pickle would call."""
        return pytest.fail, ("a pickle was read",)


def write_bad(folder: Path, kind: str) -> Path:
    """A file that is no attention weights."""
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
            path.write_bytes(pickle.dumps(Bomb()))
        case "torch.save":
            torch.save(weights, path)
        case "objects":
            with path.open("wb") as file:
                numpy.save(file, numpy.array([Bomb()], dtype=object))
        case "objects in npz":
            with path.open("wb") as file:
                numpy.savez(file, x=numpy.array([Bomb()], dtype=object))
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
            r"cut short: \[2, 7, 7\] of float64 takes 784 bytes, and 704 are there",
            id="cut npy",
        ),
        pytest.param("cut header", r"damaged or cut short", id="cut npy header"),
        pytest.param("open header", r"damaged or cut short", id="npy header without an end"),
        pytest.param("cut npz", r"damaged or cut short", id="cut npz"),
        pytest.param(
            "forged npy", r"takes 562,949,953,421,312 bytes, and 0 are there", id="forged header"
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
def test_bad_files(tmp_path: Path, kind: str, says: str) -> None:
    """One sentence, whatever is in the file, and no pickle is ever read."""
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
        pytest.param(numpy.zeros((0, 4, 4)), r"\[0, 4, 4\], which holds nothing", id="no heads"),
        pytest.param(
            numpy.zeros((2, 0, 0)), r"\[2, 0, 0\], which holds nothing", id="no positions"
        ),
        pytest.param(
            numpy.zeros((3, 3), dtype=numpy.int64),
            r"holds int64; attention weights are float64",
            id="integers",
        ),
        pytest.param(numpy.zeros((3, 3), dtype=bool), r"holds bool", id="a mask"),
        pytest.param(numpy.zeros((3, 3), dtype=complex), r"holds complex128", id="complex"),
    ],
)
def test_arrays_that_are_no_weights(tmp_path: Path, array: numpy.ndarray, says: str) -> None:
    """The sentence names the shape or dtype there is."""
    numpy.save(tmp_path / "w.npy", array)
    with pytest.raises(DrillError, match=says):
        read_weights(tmp_path / "w.npy")


def test_none_of_several_tensors_fits(tmp_path: Path) -> None:
    """The sentence names the tensors with their shapes, the first six of them."""
    save_file(
        {f"t{number}": torch.zeros(number + 1, number + 2) for number in range(8)},
        tmp_path / "w.safetensors",
    )
    with pytest.raises(
        DrillError,
        match=r"None of the 8 tensors in .*: t0 \[1, 2\] F32, t1 \[2, 3\] F32.*t5 \[6, 7\] F32 and 2 more",
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
def test_names_that_are_not_there(
    tmp_path: Path, tensors: dict[str, int], name: str | None, says: str
) -> None:
    """The sentence names what there is."""
    save_file(
        {one: random_weights(count) for one, count in tensors.items()}, tmp_path / "w.safetensors"
    )
    with pytest.raises(DrillError, match=says):
        read_weights(tmp_path / "w.safetensors", name)


def test_a_name_for_what_has_none(tmp_path: Path) -> None:
    """A .npy file holds one array without a name."""
    numpy.save(tmp_path / "w.npy", random_weights().numpy())
    with pytest.raises(DrillError, match="Leave --name away"):
        read_weights(tmp_path / "w.npy", "weights")


def test_too_many_heads() -> None:
    """Counted before anything is computed, both numbers named."""
    with pytest.raises(DrillError, match="65,537 heads; at most 65,536"):
        count_heads({"w": torch.zeros(1, 1).expand(65_537, 1, 1)})


def drawn(*leading: int, length: int = 7, width: int = 80) -> list[HeadFacts]:
    """Random heads with pictures for a terminal of this width."""
    tensors = {"layers.0.attn": random_weights(*leading, length=length)}
    count = count_heads(tensors)
    return list(facts_of(tensors, range(count), range(12), lambda one: small_cells(one, width)))


def shown_lines(
    found: list[HeadFacts], width: int, encoding: str = "utf-8", *, whole: bool = False
) -> list[str]:
    """What a pipe of this encoding gets."""
    stream = io.TextIOWrapper(io.BytesIO(), encoding=encoding)
    show_heads(
        found,
        "w.safetensors",
        Console(file=stream, width=width, highlight=False, emoji=False),
        whole=whole,
    )
    stream.flush()
    return stream.buffer.getvalue().decode(encoding).splitlines()  # type: ignore[attr-defined]


@pytest.mark.parametrize(("width", "beside"), [(80, 3), (50, 2), (30, 1)])
@pytest.mark.parametrize("length", [22, 40])
def test_pictures_stand_side_by_side(width: int, beside: int, length: int) -> None:
    """As many in a row as the width has room for, each in a whole frame, and nothing is wider than the terminal."""
    lines = shown_lines(drawn(5, length=length, width=width), width)
    assert max(map(len, lines)) <= width
    assert [line.count("┌") for line in lines if "┌" in line] == [beside] * (5 // beside) + [
        5 % beside
    ] * (5 % beside > 0)
    assert sum(line.count("┘") for line in lines) == 5


@pytest.mark.parametrize(
    ("length", "width", "rows", "columns"),
    [
        (1, 80, 1, 2),
        (3, 80, 3, 6),
        (11, 80, 11, 22),
        (12, 80, 6, 12),
        (22, 80, 11, 22),
        (23, 80, 11, 22),
        (500, 80, 11, 22),
        (6, 14, 6, 12),
        (7, 14, 4, 7),
        (500, 14, 6, 12),
    ],
)
def test_sizes_of_pictures(length: int, width: int, rows: int, columns: int) -> None:
    """At most 22 characters in a frame that fits: where they are enough two for a weight, else one, and half as many rows."""
    lines = shown_lines(drawn(length=length, width=width), width)
    assert len(next(line for line in lines if line.startswith("┌"))) == columns + 2
    assert sum(line.startswith("│") for line in lines) == rows


def test_every_head_has_its_line() -> None:
    """Number, index, entropy, share, distance and class, below the tensor's name; the headline counts the classes."""
    found = drawn(2, 2)
    lines = shown_lines(found, 80)
    assert lines[0].startswith("w.safetensors  4 heads  L=7  ")
    assert lines[3] == "layers.0.attn"
    for one, line in zip(found, lines[4:8], strict=True):
        assert line.split() == [
            str(one.number),
            f"[{one.index[0]},",
            f"{one.index[1]}]",
            f"{one.entropy:.4f}",
            f"{one.entropy_share:.0%}",
            f"{one.distance:.4f}",
            one.kind,
        ]


def test_lengths_that_differ_are_told() -> None:
    """A column L where the tensors have different lengths."""
    tensors = {"a": random_weights(length=3), "b": random_weights(length=5)}
    lines = shown_lines(list(facts_of(tensors, range(2), range(2), exact)), 80)
    assert "L=3 to 5" in lines[0]
    assert [line.split()[:2] for line in lines if re.match(r" +[01] ", line)] == [
        ["0", "3"],
        ["1", "5"],
    ]


def test_shades_by_hand() -> None:
    """Each shade from twice the weight of the one before; below 1/16 of the head's greatest nothing; two characters a weight."""
    weights = [[0.8, 0.4, 0.39], [0.2, 0.1, 0.05], [0.04, -0.1, math.nan]]
    rows = [line for line in shown_lines(facts(weights), 80) if line.startswith("│")]
    assert rows == ["│████▓▓│", "│▓▓▒▒░░│", "│  --??│"]


def test_ascii_has_the_same_shades() -> None:
    """A stream of another encoding: no character of it is lost."""
    weights = [[0.8, 0.4, 0.39], [0.2, 0.1, 0.05], [0.04, -0.1, math.nan]]
    lines = shown_lines(facts(weights), 80, "ascii")
    start = lines.index("+------+")
    assert lines[start + 1 : start + 5] == ["|####**|", "|**::..|", "|  --??|", "+------+"]
    assert ". : * #" in lines[-1]


def test_oddities_are_told_a_line_a_head() -> None:
    """A mark in the table, the words below it."""
    weights = random_weights(3)
    weights[1] *= 2
    lines = shown_lines(facts(weights), 80)
    assert "! head 1: 7 of 7 rows do not sum to 1 (2)" in lines
    assert [line.endswith(" !") for line in lines[3:6]] == [False, True, False]


def test_more_heads_than_are_shown() -> None:
    """How many more there are, how many of them are odd, and how to see them."""
    weights = random_weights(20)
    weights[15] *= 2
    found = list(facts_of({"": weights}, range(20), range(12), exact))
    last = " ".join(shown_lines(found, 80)[-2:])
    assert "8 more heads, 1 of them unlike attention weights: --head N shows one" in last


@pytest.mark.parametrize(
    ("length", "width", "frame"),
    [(20, 80, 42), (32, 80, 66), (33, 80, 35), (64, 80, 66), (200, 80, 66), (200, 50, 50)],
)
def test_one_head_in_full_size(length: int, width: int, frame: int) -> None:
    """Up to 64 columns, every weight of up to 64 positions a row and a column of its own."""
    tensors = {"": random_weights(length=length)}
    found = list(facts_of(tensors, range(1), range(1), lambda one: whole_cells(one, width)))
    lines = shown_lines(found, width, whole=True)
    assert len(next(line for line in lines if line.startswith("┌"))) == frame
    assert sum(line.startswith("│") for line in lines) == min(length, 64, width - 2)


def test_names_cannot_draw_on_the_terminal() -> None:
    """Control characters and markup of a tensor's name are not obeyed."""
    found = list(facts_of({"a\x1b[31m\n[bold]b": random_weights()}, range(1), range(1), exact))
    lines = shown_lines(found, 80)
    assert r"a\x1b[31m [bold]b" in lines
    assert "\x1b" not in "".join(lines)


@pytest.mark.parametrize("no_color", [False, True])
def test_colour_only_adds(no_color: bool) -> None:
    """A terminal gets colours, with NO_COLOR none, and the characters are the same."""
    stream = io.StringIO()
    console = Console(
        file=stream,
        width=80,
        force_terminal=True,
        no_color=no_color,
        color_system="256",
        highlight=False,
    )
    show_heads(drawn(2), "w.safetensors", console)
    assert bool(re.search(r"\x1b\[[0-9;]*38;5;33m", stream.getvalue())) == (not no_color)
    plain = re.sub(r"\x1b\[[0-9;]*m", "", stream.getvalue())
    assert plain.splitlines() == shown_lines(drawn(2), 80)


def test_the_page_shows_every_head() -> None:
    """Every head is in the table and has a picture; names are escaped."""
    tensors = {"<b>layer</b>": random_weights(2, 3)}
    found = list(facts_of(tensors, range(6), range(6), cells))
    page = to_html(found, "<i>w.npy")
    assert not re.search(r"<script|<i>|<b>layer", page)
    for one in found:
        assert page.count(f'<figure id="head-{one.number}">\n<svg ') == 1
        row = page.split(f'<td><a href="#head-{one.number}">')[1].split("</tr>")[0]
        assert f"<td>{one.entropy:.4f}</td>" in row
        assert f"<td>{one.distance:.4f}</td>" in row
        assert f"[{one.index[0]}, {one.index[1]}]" in row
        assert one.kind in row


def test_the_page_draws_every_cell() -> None:
    """A square for each cell that is not nearly 0, as strong as the root of its share; what is no weight has a class of its own."""
    page = to_html(facts([[0.64, 0.16], [0.0, math.nan]]), "w.npy")
    assert re.findall(r"<path [^>]*>", page) == [
        '<path class="strange" d="M1 1h1v1h-1z"/>',
        '<path opacity="0.5" d="M1 0h1v1h-1z"/>',
        '<path opacity="1" d="M0 0h1v1h-1z"/>',
    ]


def test_the_page_says_what_it_leaves_out() -> None:
    """The number of heads without a picture."""
    found = list(facts_of({"": random_weights(5)}, range(5), range(3), cells))
    assert "2 more heads are not shown here" in to_html(found, "w.npy")


@pytest.fixture
def saved(tmp_path: Path) -> Path:
    """A folder with weights of 2 layers of 7 heads in bfloat16."""
    save_file({"attn": random_weights(2, 7).to(torch.bfloat16)}, tmp_path / "w.safetensors")
    return tmp_path


def test_the_command_shows_heads(saved: Path) -> None:
    """At 80 and at 50 columns, into a pipe without colour; --head shows one alone."""
    for columns in (80, 50):
        lines = drill("heads", "w.safetensors", cwd=saved, COLUMNS=str(columns)).stdout.splitlines()
        assert lines[0].startswith("w.safetensors  14 heads  L=7")
        assert max(map(len, lines)) <= columns
        assert "2 more heads" in " ".join(lines)
        assert "\x1b" not in "".join(lines)
    alone = drill("heads", "w.safetensors", "--head", "13", cwd=saved).stdout
    assert "head 13 [1, 6]" in alone
    assert alone.count("┌") == 1


def test_the_command_in_ascii(saved: Path) -> None:
    """Where stdout is not UTF every character is ASCII, and no `?` stands for one that got lost."""
    text = drill("heads", "w.safetensors", cwd=saved, PYTHONIOENCODING="ascii").stdout
    assert text.isascii()
    assert "?" not in text
    assert "#" in text


def test_the_command_writes_json(saved: Path) -> None:
    """One object with all heads and the same numbers."""
    told = json.loads(drill("heads", "w.safetensors", "--name", "attn", "--json", cwd=saved).stdout)
    found = facts(random_weights(2, 7).to(torch.bfloat16), "attn")
    assert (told["schema"], told["file"]) == ("attn-drill.heads/1", "w.safetensors")
    assert told["heads"] == as_object(found, "")["heads"]
    assert len(told["heads"]) == 14
    assert told["heads"][13] | {"entropy": 0, "entropy_share": 0, "distance": 0} == {
        "number": 13,
        "tensor": "attn",
        "index": [1, 6],
        "length": 7,
        "entropy": 0,
        "entropy_share": 0,
        "distance": 0,
        "class": found[13].kind,
        "notes": [],
    }


def test_the_command_writes_a_page(saved: Path) -> None:
    """Every head is in it; the file is named on stdout, and with --json stdout has the object."""
    done = drill("heads", "w.safetensors", "--html", "out.html", cwd=saved)
    assert done.stdout == "out.html is written, with 14 of 14 heads.\n"
    assert (saved / "out.html").read_text().count("<figure ") == 14
    again = drill(
        "heads", "w.safetensors", "--html", "one.html", "--head", "3", "--json", cwd=saved
    )
    assert [one["number"] for one in json.loads(again.stdout)["heads"]] == [3]
    assert (saved / "one.html").read_text().count("<figure ") == 1


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        pytest.param(["nowhere.npy"], "There is no file nowhere.npy", id="no file"),
        pytest.param(
            ["w.safetensors", "--head", "14"],
            "--head is 14; w.safetensors has heads 0 to 13",
            id="no such head",
        ),
        pytest.param(["w.safetensors", "--head", "-1"], "--head is -1", id="negative head"),
        pytest.param(["w.safetensors", "--name", "attm"], "Did you mean attn", id="no such tensor"),
        pytest.param(
            ["w.safetensors", "--html", "w.safetensors"],
            "must end in .html",
            id="would write over the weights",
        ),
        pytest.param(
            ["w.safetensors", "--html", "nowhere/out.html"],
            "nowhere/out.html cannot be written",
            id="no such folder",
        ),
        pytest.param([], "Missing argument", id="no argument"),
    ],
)
def test_usage_errors(saved: Path, arguments: list[str], says: str) -> None:
    """Exit 2, one sentence on stderr, nothing on stdout."""
    done = drill("heads", *arguments, cwd=saved, code=2)
    assert says in done.stderr
    assert len(done.stderr.strip().splitlines()) == 1
    assert done.stdout == ""


def test_the_command_imports_torch_only_when_it_runs() -> None:
    """The module of the command, which every start of attn-drill imports, and what draws need no torch, numpy, rich or Jinja."""
    script = (
        "import sys; import trainer.cli.heads;"
        " print(sorted(set(sys.modules) & {'torch', 'numpy', 'rich', 'jinja2'}));"
        " import trainer.report.heads_page; print('torch' in sys.modules)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script],
        cwd=pack_reader.TRAINER.parent,
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split("\n")[:2] == ["[]", "False"]
