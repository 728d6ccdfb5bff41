"""Tests of the comparison of tensors in different layouts."""

import torch

from attn_drill.diagnosis._value_graph import Core, hold_same_values
from tests.support.diagnosis import SIZES


def same(tensor: torch.Tensor, other: torch.Tensor, sizes: dict[str, int]) -> bool:
    """Return whether two tensors are the same in an honest layout."""
    return hold_same_values(Core(tensor), Core(other), sizes)


def test_honest_layouts_have_the_same_values() -> None:
    """Dims may be permuted, and axes merged or split in order. A wrong reshape is different."""
    heads = torch.randn(2, 4, 7, 3)
    merged = heads.transpose(1, 2).reshape(2, 7, 12)
    assert same(merged, heads, SIZES)
    assert same(heads, merged, SIZES)
    assert same(heads.reshape(8, 7, 3), heads, SIZES)
    assert same(heads.permute(2, 3, 0, 1), heads, SIZES)
    assert not same(heads.reshape(2, 7, 12), heads, SIZES)
    assert not same(heads.flip(1), heads, SIZES)
    assert not same(2 * heads, heads, SIZES)


def test_axis_is_not_split_into_the_same_letter_twice() -> None:
    """Tiled heads differ from repeated heads even if batch and group have equal sizes.

    The split 12 = B B Hkv would make them equal.
    """
    sizes = {"B": 2, "L": 5, "H": 6, "Hkv": 3, "D": 8}
    heads = torch.randn(2, 6, 5, 8)
    tiled = heads.transpose(1, 2).reshape(2, 5, 2, 3, 8)
    assert same(heads.transpose(1, 2).reshape(2, 5, 3, 2, 8), heads.reshape(12, 5, 8), sizes)
    assert not same(tiled, heads.reshape(12, 5, 8), sizes)


def test_strictly_causal_mask_differs_from_causal_mask() -> None:
    """A complement or a transpose is the same mask, but not the transpose of a complement."""
    causal = torch.ones(6, 6, dtype=torch.bool).tril()
    sizes = {"B": 2, "L": 6}
    assert same(~causal, causal, sizes)
    assert same(causal.t(), causal, sizes)
    assert not same(causal.tril(-1), causal, sizes)


def test_integers_must_be_exactly_equal() -> None:
    """Large positions that differ by 1 are different, because integers are not rounded."""
    positions = torch.arange(20_000, 20_014).view(2, 7)
    assert same(positions.T, positions, SIZES)
    assert not same(positions.clamp(max=20_012), positions, SIZES)


def test_comparison_of_many_dims_ends_soon() -> None:
    """There are 270 million ways to split these two tensors. The comparison gives up."""
    sizes = {"B": 2, "H": 4, "Hkv": 2, "L": 5, "D": 2, "M": 8, "Dv": 4}
    tensor, other = torch.rand([8] * 7), torch.rand([16] * 5 + [2])
    assert tensor.numel() == other.numel()
    assert not same(tensor, other, sizes)


def test_mask_is_the_same_in_every_notation() -> None:
    """The notations are True and False, 0 and -inf, and the complement."""
    visible = torch.ones(5, 5, dtype=torch.bool).tril()
    bias = torch.zeros(5, 5).masked_fill(~visible, float("-inf"))
    assert same(bias, visible, {})
    assert same(~visible, visible, {})
    assert not same(torch.ones(5, 5, dtype=torch.bool).tril(1), visible, {})
