"""Tests of the facts about attention heads, compared with the reference and with values by hand."""

import math
from itertools import product

import numpy
import pytest
import torch

from attn_drill.model.errors import DrillError
from attn_drill.tools.attention_heads import heads_of
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


@pytest.mark.parametrize(
    ("weights", "kind"),
    [
        pytest.param([[0.51, 0.49], [0.49, 0.51]], "positional", id="diagonal 0.51"),
        pytest.param([[0.5, 0.5], [0.5, 0.5]], "global", id="diagonal 0.5, first key 0.5"),
        pytest.param([[0, 0, 0], [0.4, 0, 0], [0.5, 0.5, 0]], "backward", id="first key 0.3"),
        pytest.param([[0, 0.5, 0.5], [0, 0.5, 0.5], [0, 0, 1]], "forward", id="above only"),
        pytest.param(
            [[0.3, 0.7, 0], [0, 0.3, 0.7], [0.2, 0.5, 0.3]], "mixed", id="above twice below"
        ),
    ],
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


@pytest.mark.parametrize(
    ("change", "says"),
    [
        pytest.param({(0, 1): math.nan}, ["1 of 16 weights is not finite"], id="NaN"),
        pytest.param(
            {(0, 1): math.inf, (2, 2): -math.inf},
            ["2 of 16 weights are not finite", "1 of 16 weights is negative"],
            id="infinite",
        ),
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
