"""Draws depend only on the seed, and masks and positions have the promised properties."""

from typing import Any

import pytest
import torch

from attn_drill.casekit.draw import Draw
from attn_drill.model.errors import PackError


def test_same_seed_gives_same_values() -> None:
    """Another seed gives other values."""
    assert torch.equal(Draw(5).normal(3, 4), Draw(5).normal(3, 4))
    assert not torch.equal(Draw(5).normal(3, 4), Draw(6).normal(3, 4))


def test_second_values_have_the_same_sizes() -> None:
    """The second call of a case has the same shapes as the first call, and other values."""
    first, second = Draw(5), Draw(5, values=1)
    ranges = ((2, 9), (2, 9), (2, 9))
    assert first.distinct(*ranges) == second.distinct(*ranges)
    assert not torch.equal(first.normal(3, 4), second.normal(3, 4))


@pytest.mark.parametrize("seed", range(30))
def test_keep_has_true_and_false_in_every_row(seed: int) -> None:
    """Every row keeps at least one key and hides at least one key."""
    mask = Draw(seed).keep(2, 3, 4, 5)
    assert bool(mask.any(-1).all())
    assert bool((~mask).any(-1).all())


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("seed", range(10))
def test_padding_is_ragged(seed: int, side: str) -> None:
    """Batch items differ in length, and all real tokens are on one side."""
    mask = Draw(seed).padding(3, 7, side)
    lengths = mask.sum(-1).tolist()
    assert len(set(lengths)) == 3
    assert min(lengths) >= 1
    ordered = mask if side == "right" else mask.flip(-1)
    assert torch.equal(ordered, ordered.sort(-1, descending=True).values)


@pytest.mark.parametrize("seed", range(10))
def test_masks_have_every_shape_and_a_key_in_every_row(seed: int) -> None:
    """Masks have 2 or 4 dims and broadcast to [B, H, Lq, Lk]. Every row has a True."""
    masks = Draw(seed).masks(2, 3, 4, 5)
    assert {mask.dim() for mask in masks.values()} == {2, 4}
    for mask in masks.values():
        full = mask.broadcast_to(2, 3, 4, 5)
        assert bool(full.any(-1).all())
        assert not bool(full.all())


@pytest.mark.parametrize("seed", range(10))
def test_every_line_of_positions_has_both_ends(seed: int) -> None:
    """The ends are at other places in each line, so no line equals another line."""
    lines = Draw(seed).positions(3, 5, high=9)
    assert (lines == 0).any(-1).all()
    assert (lines == 8).any(-1).all()
    assert [int(line[item]) for item, line in enumerate(lines)] == [8, 8, 8]
    assert [int(line[item + 1]) for item, line in enumerate(lines)] == [0, 0, 0]


@pytest.mark.parametrize("seed", range(10))
def test_sizes_can_be_even(seed: int) -> None:
    """With a factor of 2, the range gives half of the size."""
    assert Draw(seed).sizes(D=(3, 9), times={"D": 2})["D"] in range(6, 19, 2)


def test_sum_of_sizes_differs_from_all_sizes() -> None:
    """The total length of several steps does not equal another size of the case."""
    for seed in range(30):
        ranges = {"first": (2, 4), "second": (2, 4), "D": (5, 8)}
        drawn = Draw(seed).sizes(sums={"L": ("first", "second", 1)}, **ranges)
        assert drawn["L"] == drawn["first"] + drawn["second"] + 1
        assert len(set(drawn.values())) == 4


@pytest.mark.parametrize("ranges", [{"B": (2, 2), "L": (2, 2)}, {"B": (5, 2)}, {"B": 2}])
def test_impossible_sizes_are_an_error_of_the_pack(ranges: Any) -> None:
    """Sizes that cannot differ would be drawn for ever."""
    with pytest.raises(PackError, match=r"all differ|is not a range"):
        Draw(1).sizes(**ranges)


def test_unit_without_a_size_is_named() -> None:
    """The message has the letter and all known sizes."""
    with pytest.raises(PackError, match=r"name Hkv, which has no size \(the sizes are: H = "):
        Draw(1).sizes(times={"H": "Hkv"}, H=(2, 3))
