"""Tests of the attention weights that a page shows."""

import pytest
import torch

from attn_drill.grading.grader import Grader
from attn_drill.packs import pack_reader
from tests.support.diagnosis import CHALLENGES, diagnosed
from tests.support.grading import with_mistakes

GQA = CHALLENGES["gqa"]
HEAD_BY_HEAD = """        weights = torch.softmax(scores, dim=-1)  # [B, H, L, L]
"""
IN_A_LOOP = """        heads = range(self.num_heads)
        shares = [torch.softmax(scores[:, head], dim=-2) for head in heads]
        weights = torch.stack(shares, dim=1)
"""


@pytest.mark.thorough
def test_weights_of_a_wrong_softmax_are_shown_next_to_the_right_weights(grader: Grader) -> None:
    """The shown rows add up to 1 along the queries, and the expected rows along the keys."""
    _, found = diagnosed(grader, GQA, with_mistakes(GQA, "softmax-over-queries"))
    assert found.attention is not None
    actual, expected = map(torch.tensor, (found.attention.actual, found.attention.expected))
    assert actual.shape == expected.shape
    ones = torch.ones(())
    torch.testing.assert_close(
        actual.sum(dim=1), ones.expand(actual[:, 0].shape), rtol=0, atol=1e-3
    )
    torch.testing.assert_close(
        expected.sum(dim=2), ones.expand(expected[:, 0].shape), rtol=0, atol=1e-3
    )


@pytest.mark.thorough
def test_weights_of_a_softmax_for_each_head_are_stacked(grader: Grader) -> None:
    """A loop over the heads makes one tensor for each head."""
    source = pack_reader.solution(GQA)
    assert source.count(HEAD_BY_HEAD) == 1
    _, found = diagnosed(grader, GQA, source.replace(HEAD_BY_HEAD, IN_A_LOOP))
    assert found.attention is not None
    assert len(found.attention.actual) == len(found.attention.expected) > 1


@pytest.mark.thorough
def test_right_weights_are_equal(grader: Grader) -> None:
    """If only the output is wrong, both weights are the same."""
    _, found = diagnosed(grader, GQA, with_mistakes(GQA, "heads-merged-without-transpose"))
    assert found.attention is not None
    actual, expected = map(torch.tensor, (found.attention.actual, found.attention.expected))
    torch.testing.assert_close(actual, expected, rtol=0, atol=2e-4)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("folder", ["masks", "rope", "attention_cost"])
def test_challenge_without_attention_has_no_weights(grader: Grader, folder: str) -> None:
    """Nothing is shown for a challenge that computes no softmax."""
    mistake = {"rope": "no-sine", "attention_cost": "keys-only", "masks": "causal-strict"}[folder]
    challenge = CHALLENGES[folder]
    _, found = diagnosed(grader, challenge, with_mistakes(challenge, mistake))
    assert found.attention is None
