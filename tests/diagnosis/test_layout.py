"""The diagnosis: known mistakes made by hand are named, none wrongly, and the first wrong line is found."""

import torch

from tests.support.diagnosis import SIZES
from trainer.diagnosis.layout import Core, hold_same_values


def alike(one: torch.Tensor, other: torch.Tensor, sizes: dict[str, int]) -> bool:
    """Whether two tensors are the same in an honest layout."""
    return hold_same_values(Core(one), Core(other), sizes)


def test_an_honest_layout_is_the_same() -> None:
    """Dims permuted, axes merged and taken apart in the usual order; memory under another shape is not."""
    heads = torch.randn(2, 4, 7, 3)
    merged = heads.transpose(1, 2).reshape(2, 7, 12)
    assert alike(merged, heads, SIZES)
    assert alike(heads, merged, SIZES)
    assert alike(heads.reshape(8, 7, 3), heads, SIZES)
    assert alike(heads.permute(2, 3, 0, 1), heads, SIZES)
    assert not alike(heads.reshape(2, 7, 12), heads, SIZES)
    assert not alike(heads.flip(1), heads, SIZES)
    assert not alike(2 * heads, heads, SIZES)


def test_no_letter_is_taken_twice() -> None:
    """Heads in the order of another grouping are no honest layout, though the batch is as large as a group: 12 = B B Hkv is nothing."""
    sizes = {"B": 2, "L": 5, "H": 6, "Hkv": 3, "D": 8}
    heads = torch.randn(2, 6, 5, 8)
    tiled = heads.transpose(1, 2).reshape(2, 5, 2, 3, 8)
    assert alike(heads.transpose(1, 2).reshape(2, 5, 3, 2, 8), heads.reshape(12, 5, 8), sizes)
    assert not alike(tiled, heads.reshape(12, 5, 8), sizes)


def test_a_strict_mask_is_no_transposed_complement() -> None:
    """j < i is not what j > i hides, read with keys and queries exchanged; who is hidden is the same mask, and so is its transpose."""
    causal = torch.ones(6, 6, dtype=torch.bool).tril()
    sizes = {"B": 2, "L": 6}
    assert alike(~causal, causal, sizes)
    assert alike(causal.t(), causal, sizes)
    assert not alike(causal.tril(-1), causal, sizes)


def test_integers_are_equal_or_not() -> None:
    """Large positions that differ by one are others; there is no rounding among integers."""
    positions = torch.arange(20_000, 20_014).view(2, 7)
    assert alike(positions.T, positions, SIZES)
    assert not alike(positions.clamp(max=20_012), positions, SIZES)


def test_many_dims_are_soon_given_up() -> None:
    """Two tensors of many dims may be taken apart in 270 million ways: it comes to an end, and says nothing."""
    sizes = {"B": 2, "H": 4, "Hkv": 2, "L": 5, "D": 2, "M": 8, "Dv": 4}
    one, other = torch.rand([8] * 7), torch.rand([16] * 5 + [2])
    assert one.numel() == other.numel()
    assert not alike(one, other, sizes)


def test_a_mask_is_the_same_however_it_is_written() -> None:
    """True and False, 0 and -inf, its complement; another pattern is not."""
    seen = torch.ones(5, 5, dtype=torch.bool).tril()
    bias = torch.zeros(5, 5).masked_fill(~seen, float("-inf"))
    assert alike(bias, seen, {})
    assert alike(~seen, seen, {})
    assert not alike(torch.ones(5, 5, dtype=torch.bool).tril(1), seen, {})
