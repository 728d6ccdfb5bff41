"""The designed scores of a case."""

import torch

from attn_drill.casekit import Scores


def test_all_heads_have_the_same_factor() -> None:
    """The default factor is 1."""
    assert Scores(torch.ones(3)).of_heads(4).tolist() == [1, 1, 1, 1]


def test_alternating_heads_have_opposite_signs() -> None:
    """The first head has the sign of the keys."""
    assert Scores(torch.ones(3), alternating=True).of_heads(3).tolist() == [1, -1, 1]
