"""What is drawn is a function of the seed; masks have ragged rows and keep a key in every row."""

import pytest
import torch

from trainer.casekit.draw import Draw


def test_same_seed_same_values() -> None:
    """A seed gives the same case again."""
    assert torch.equal(Draw(5).normal(3, 4), Draw(5).normal(3, 4))
    assert not torch.equal(Draw(5).normal(3, 4), Draw(6).normal(3, 4))


def test_second_values_have_the_same_sizes() -> None:
    """The second call of a case has the first one's shapes and other numbers."""
    first, second = Draw(5), Draw(5, values=1)
    ranges = ((2, 9), (2, 9), (2, 9))
    assert first.distinct(*ranges) == second.distinct(*ranges)
    assert not torch.equal(first.normal(3, 4), second.normal(3, 4))


@pytest.mark.parametrize("seed", range(30))
def test_keep_has_both_in_every_row(seed: int) -> None:
    """Every row keeps one and loses one."""
    mask = Draw(seed).keep(2, 3, 4, 5)
    assert bool(mask.any(-1).all())
    assert bool((~mask).any(-1).all())


@pytest.mark.parametrize("side", ["left", "right"])
@pytest.mark.parametrize("seed", range(10))
def test_padding_is_ragged(seed: int, side: str) -> None:
    """Batch items differ in length; the real tokens lie together on their side."""
    mask = Draw(seed).padding(3, 7, side)
    lengths = mask.sum(-1).tolist()
    assert len(set(lengths)) == 3
    assert min(lengths) >= 1
    ordered = mask if side == "right" else mask.flip(-1)
    assert torch.equal(ordered, ordered.sort(-1, descending=True).values)


def test_causal_is_aligned_at_the_end() -> None:
    """Query i of Lq sees keys up to i + Lk - Lq."""
    assert Draw(0).causal(2, 4).tolist() == [[True, True, True, False], [True, True, True, True]]


@pytest.mark.parametrize("seed", range(10))
def test_masks_have_every_shape_and_a_key_in_every_row(seed: int) -> None:
    """Two to four dims, broadcastable to [B, H, Lq, Lk], some key masked and none of the rows empty."""
    masks = Draw(seed).masks(2, 3, 4, 5)
    assert {mask.dim() for mask in masks.values()} == {2, 3, 4}
    for mask in masks.values():
        full = mask.broadcast_to(2, 3, 4, 5)
        assert bool(full.any(-1).all())
        assert not bool(full.all())


@pytest.mark.parametrize("seed", range(10))
def test_positions_have_the_ends_in_every_line(seed: int) -> None:
    """Each line at other places than the next, so that no line passes for another."""
    lines = Draw(seed).positions(3, 5, high=9)
    assert (lines == 0).any(-1).all()
    assert (lines == 8).any(-1).all()
    assert [int(line[item]) for item, line in enumerate(lines)] == [8, 8, 8]
    assert [int(line[item + 1]) for item, line in enumerate(lines)] == [0, 0, 0]


@pytest.mark.parametrize("seed", range(10))
def test_sizes_can_be_even(seed: int) -> None:
    """The range then holds halves."""
    assert Draw(seed).sizes(D=(3, 9), times={"D": 2})["D"] in range(6, 19, 2)


def test_a_sum_of_sizes_differs_from_all_sizes() -> None:
    """The length of several steps is no other size of the case."""
    for seed in range(30):
        ranges = {"first": (2, 4), "second": (2, 4), "D": (5, 8)}
        drawn = Draw(seed).sizes(sums={"L": ("first", "second", 1)}, **ranges)
        assert drawn["L"] == drawn["first"] + drawn["second"] + 1
        assert len(set(drawn.values())) == 4
