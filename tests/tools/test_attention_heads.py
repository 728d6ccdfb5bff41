"""`heads`: facts against hand-made values and the reference, formats, bad input, and what is shown at which width."""

import importlib.util
import math
from itertools import product
from types import ModuleType

import numpy
import pytest
import torch

from tests.support.heads import exact, facts, random_weights
from trainer.model.errors import DrillError
from trainer.packs import pack_reader
from trainer.tools import attention_heads as comparing
from trainer.tools.attention_heads import count_heads, facts_of


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


def test_too_many_heads() -> None:
    """Counted before anything is computed, both numbers named."""
    with pytest.raises(DrillError, match="65,537 heads; at most 65,536"):
        count_heads({"w": torch.zeros(1, 1).expand(65_537, 1, 1)})
