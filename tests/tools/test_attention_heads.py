"""Tests of the facts about attention heads, compared with the reference and with values by hand."""

import importlib.util
import math
from itertools import product
from types import ModuleType

import numpy
import pytest
import torch

from tests.support.heads import facts, full_size, random_weights
from trainer.model.errors import DrillError
from trainer.packs import pack_reader
from trainer.tools import attention_heads
from trainer.tools.attention_heads import count_heads, facts_of


@pytest.fixture(scope="module")
def reference() -> ModuleType:
    """Return the reference of the challenge that asks for these values."""
    path = pack_reader.built_in_pack() / "solutions" / "head_analysis" / "solution.py"
    spec = importlib.util.spec_from_file_location("head_analysis_solution", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def test_entropy_and_distance_by_hand() -> None:
    """Two queries attend to head key each, head query to two keys.

    Entropy is ln 2 / 3 nats, distance is (1 + 1 + 0.5) / 3 positions.
    """
    (head,) = facts([[0, 1, 0], [1, 0, 0], [0, 0.5, 0.5]])
    assert head.entropy == pytest.approx(math.log(2) / 3)
    assert head.entropy_share == pytest.approx(math.log(2) / 3 / math.log(3))
    assert head.distance == pytest.approx(2.5 / 3)
    assert (head.head_index, head.tensor, head.index, head.length, head.notes) == (0, "", (), 3, ())


@pytest.mark.parametrize(
    ("weights", "kind"),
    [
        pytest.param([[1, 0], [0.5, 0.5]], "positional", id="diagonal 0.75"),
        pytest.param([[0.51, 0.49], [0.49, 0.51]], "positional", id="diagonal 0.51"),
        pytest.param([[0, 1], [1, 0]], "global", id="first key 0.5"),
        pytest.param(
            [[0.5, 0.5], [0.5, 0.5]],
            "global",
            id="diagonal 0.5 is not positional, so the first key counts",
        ),
        pytest.param(
            [[0, 0, 0], [0.4, 0, 0], [0.5, 0.5, 0]],
            "backward",
            id="first key 0.3 is not above the bound",
        ),
        pytest.param(
            [[0, 0.5, 0.5], [0, 0.5, 0.5], [0, 0, 1]], "forward", id="above the diagonal only"
        ),
        pytest.param(
            [[0.3, 0.7, 0], [0, 0.3, 0.7], [0.2, 0.5, 0.3]],
            "mixed",
            id="1.4 above is not more than twice 0.7 below",
        ),
    ],
)
def test_class_is_the_first_whose_condition_holds(weights: list[list[float]], kind: str) -> None:
    """The bounds themselves are excluded."""
    assert facts(weights)[0].kind == kind


@pytest.mark.parametrize(
    "leading", [(), (3,), (2, 3, 5)], ids=["one matrix", "heads", "layers, batch, heads"]
)
def test_facts_agree_with_the_reference(leading: tuple[int, ...], reference: ModuleType) -> None:
    """The heads are in the order of the leading dimensions."""
    weights = random_weights(*leading)
    heads = facts(weights)
    assert [head.index for head in heads] == list(product(*map(range, leading)))
    assert [head.head_index for head in heads] == list(range(len(heads)))
    torch.testing.assert_close(
        torch.tensor([head.entropy for head in heads], dtype=torch.float64),
        reference.attention_entropy(weights).flatten(),
    )
    torch.testing.assert_close(
        torch.tensor([head.distance for head in heads], dtype=torch.float64),
        reference.mean_attention_distance(weights).flatten(),
    )
    assert [head.kind for head in heads] == [
        reference.classify_head(weights[head.index]) for head in heads
    ]


def test_all_five_classes_agree_with_the_reference(reference: ModuleType) -> None:
    """The heads lean to both sides, to the diagonal and to the first key."""
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
    kinds = [head.kind for head in facts(weights)]
    assert kinds == [reference.classify_head(head) for head in weights]
    assert set(kinds) == {"positional", "global", "forward", "backward", "mixed"}


def test_sums_over_parts_give_the_same_facts(
    monkeypatch: pytest.MonkeyPatch, reference: ModuleType
) -> None:
    """The number of entries that are summed at once does not matter."""
    weights = random_weights(5, length=11)
    weights[3] += 2 * torch.eye(11)  # positional, whatever the parts
    whole = facts(weights, size=4)
    for entries in (1, 30, 250):
        monkeypatch.setattr(attention_heads, "_ENTRIES_AT_ONCE", entries)
        for head, expected in zip(facts(weights, size=4), whole, strict=True):
            assert head.entropy == pytest.approx(expected.entropy)
            assert head.distance == pytest.approx(expected.distance)
            assert (head.kind, head.index, head.notes) == (
                expected.kind,
                expected.index,
                expected.notes,
            )
            assert numpy.allclose(head.grid, expected.grid)


def test_only_the_requested_heads_are_returned() -> None:
    """Indices count over all tensors. Only the heads in `drawn` have a picture."""
    tensors = {"a": random_weights(3), "b": random_weights(2, 2, seed=1)}
    heads = list(facts_of(tensors, range(2, 6), range(4, 5), full_size))
    assert [(head.head_index, head.tensor, head.index) for head in heads] == [
        (2, "a", (2,)),
        (3, "b", (0, 0)),
        (4, "b", (0, 1)),
        (5, "b", (1, 0)),
    ]
    assert [bool(head.grid) for head in heads] == [False, False, True, False]
    assert heads[3].entropy == facts(tensors["b"])[2].entropy


def test_picture_has_means_over_blocks() -> None:
    """Five positions are divided into blocks of 3 and 2, and of 2, 2 and 1."""
    weights = torch.arange(25, dtype=torch.float64).reshape(5, 5)
    (head,) = list(facts_of({"": weights}, range(1), range(1), lambda _: (2, 3)))
    rows, columns = [slice(0, 3), slice(3, 5)], [slice(0, 2), slice(2, 4), slice(4, 5)]
    assert numpy.allclose(
        head.grid, [[float(weights[row, column].mean()) for column in columns] for row in rows]
    )


def test_short_head_is_not_pooled() -> None:
    """If there is a cell for every weight, the picture is the head itself."""
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
def test_invalid_weights_are_noted(change: dict[tuple[int, int], float], says: list[str]) -> None:
    """There is a phrase with counts for each problem, and no error."""
    weights = torch.full((4, 4), 0.25, dtype=torch.float64)
    for index, value in change.items():
        weights[index] = value
    (head,) = facts(weights)
    assert list(head.notes) == says
    has_infinite = any(not math.isfinite(value) for value in change.values())
    assert (head.kind == "") == has_infinite
    assert math.isnan(head.grid[0][1]) == (has_infinite and not math.isfinite(change[(0, 1)]))


def test_rounded_weights_are_not_noted() -> None:
    """Rows of bfloat16 weights do not sum to 1 exactly. In float64, the same values are noted."""
    weights = random_weights(4, length=64).to(torch.bfloat16)
    worst = float((weights.double().sum(-1) - 1).abs().max())
    assert worst > 1e-3
    assert not any(head.notes for head in facts(weights))
    assert any(head.notes for head in facts(weights.double()))


def test_too_many_heads_are_refused() -> None:
    """The message has both numbers. Nothing is computed before."""
    with pytest.raises(DrillError, match="65,537 heads; at most 65,536"):
        count_heads({"w": torch.zeros(1, 1).expand(65_537, 1, 1)})
