"""The diagnosis: known mistakes made by hand are named, none wrongly, and the first wrong line is found."""

import torch

from tests.support.diagnosis import SIZES
from trainer.diagnosis.output_relation import relation


def test_relations_in_words() -> None:
    """A factor, slices moved along an axis, dims in another order."""
    heads = torch.randn(2, 7, 4, 3)
    assert (
        relation(heads / 2, heads, "B L H D", SIZES)
        == "it is the right result times 0.5 = 1/sqrt(H)"
    )
    assert "along H it holds the right slices 0 2 1 3" in (
        relation(heads[:, :, [0, 2, 1, 3]], heads, "B L H D", SIZES) or ""
    )
    assert "along L it is the right result moved by 1" in (
        relation(torch.cat([torch.randn(2, 1, 4, 3), heads[:, :-1]], 1), heads, "B L H D", SIZES)
        or ""
    )
    assert "[B, H, L, D] where [B, L, H, D]" in (
        relation(heads.transpose(1, 2).reshape(2, 7, 12), heads.reshape(2, 7, 12), "B L M", SIZES)
        or ""
    )
    assert relation(torch.randn(2, 7, 4, 3), heads, "B L H D", SIZES) is None
