"""Tests of the answers that need no attention, on the cases of sdpa and masks."""

import torch

from attn_drill.grading.case_set import load_case_set
from attn_drill.packs import pack_reader

PACK = pack_reader.built_in_pack()


def test_input_is_right_exactly_where_it_is_the_output() -> None:
    """With a single key, attention returns the value of this key."""
    case_set = load_case_set(pack_reader.find_challenge(PACK, "sdpa"), 5)
    equal = []
    for prepared in case_set.prepared:
        out, v = prepared.expected.outputs["out"].value, prepared.tensors.get("v")
        has_one_key = v is not None and v.shape[-2] == 1
        equal.append(float(has_one_key and torch.allclose(out, v.double(), rtol=1e-2)))
    assert 0 < sum(equal) < 5
    assert case_set.trivial_credits["v"] == equal


def test_each_trivial_answer_has_a_share_for_each_case() -> None:
    """A mask of ones is right where everything may be seen."""
    case_set = load_case_set(pack_reader.find_challenge(PACK, "masks"), 5)
    credits = case_set.trivial_credits
    assert {len(shares) for shares in credits.values()} == {len(case_set.prepared)}
    assert 0 < sum(credits["ones"]) < len(case_set.prepared) / 2
    assert {"zeros", "ones"} <= credits.keys()
