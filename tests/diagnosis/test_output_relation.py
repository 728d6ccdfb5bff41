"""Tests of the relation between two tensors in words."""

import pytest
import torch

from attn_drill.diagnosis._output_relation import relation
from attn_drill.grading.grader import Grader
from attn_drill.packs import pack_reader
from tests.support.diagnosis import CHALLENGES, SIZES, diagnosed


def test_relations_in_words() -> None:
    """Relations are a factor, moved slices along an axis, and another order of dims."""
    heads = torch.randn(2, 7, 4, 3)
    assert (
        relation(heads / 2, heads, "B L H D", SIZES)
        == "this is the right result times 0.5 = 1/sqrt(H)"
    )
    assert "along H, this has the right slices 0 2 1 3 instead of 0 1 2 3" in (
        relation(heads[:, :, [0, 2, 1, 3]], heads, "B L H D", SIZES) or ""
    )
    assert "along L, this is the right result shifted by 1" in (
        relation(torch.cat([torch.randn(2, 1, 4, 3), heads[:, :-1]], 1), heads, "B L H D", SIZES)
        or ""
    )
    assert "laid out as [B, H, L, D] instead of [B, L, H, D]" in (
        relation(heads.transpose(1, 2).reshape(2, 7, 12), heads.reshape(2, 7, 12), "B L M", SIZES)
        or ""
    )
    assert relation(torch.randn(2, 7, 4, 3), heads, "B L H D", SIZES) is None


@pytest.mark.thorough
def test_exchanged_true_and_false_are_found(grader: Grader) -> None:
    """A single function that returns the opposite mask is enough. A partly wrong mask is not."""
    challenge = CHALLENGES["masks"]
    right = pack_reader.solution(challenge)
    was = "return visible[None, None]"
    assert right.count(was) == 1
    _, found = diagnosed(grader, challenge, right.replace(was, "return ~visible[None, None]"))
    named = [mistake.id for mistake in found.mistakes]
    assert named == ["causal-inverted"] or "True and False are exchanged" in (found.layout or "")
    _, found = diagnosed(grader, challenge, right.replace(was, "return visible[None, None].mT"))
    assert "exchanged" not in (found.layout or "")
