"""Tests of the mask that is read from the attention weights."""

import re

import pytest
import torch

from attn_drill.diagnosis._attention_weights import compare_masks, difference_in_words
from attn_drill.grading.grader import Grader
from attn_drill.packs import pack_reader
from tests.support.diagnosis import CHALLENGES, SEED, diagnosed

MASKS = {
    "inverted": ("masked_fill(~mask", "masked_fill(mask", "the mask is inverted"),
    "ignored": ("if mask is not None:", "if False:", "as if there were no mask"),
    "shifted": ("masked_fill(~mask", "masked_fill(~mask.roll(1, -1)", ""),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", MASKS)
def test_wrong_mask_is_shown_and_described(grader: Grader, name: str) -> None:
    """The effective mask is found from outputs alone, independent of the code."""
    was, now, words = MASKS[name]
    challenge = CHALLENGES["gqa"]
    _, found = diagnosed(grader, challenge, pack_reader.solution(challenge).replace(was, now))
    assert found.effective_mask is not None
    assert words in found.effective_mask.difference
    assert found.effective_mask.actual != found.effective_mask.expected


CACHED = {
    "the past is hidden": (
        "tril(diagonal=past_length)",
        "tril(diagonal=past_length).triu(past_length)",
    ),
    "counted from the first key": ("tril(diagonal=past_length)", "tril()"),
    "an extra key": ("tril(diagonal=past_length)", "tril(diagonal=past_length + 1)"),
}


@pytest.mark.sampled(4)
@pytest.mark.thorough  # test_cached_keys_are_counted needs no grader
@pytest.mark.parametrize("folder", ["kv_cache", "gqa_kv_cache"])
@pytest.mark.parametrize("name", CACHED)
def test_picture_has_cached_keys_first(grader: Grader, folder: str, name: str) -> None:
    """The columns are the cached keys, then the new keys. The expected pattern is causal."""
    was, now = CACHED[name]
    source = pack_reader.solution(CHALLENGES[folder])
    assert source.count(was) == 1
    _, found = diagnosed(grader, CHALLENGES[folder], source.replace(was, now))
    picture = found.effective_mask
    assert picture is not None
    match = re.search(r"the first (\d+) keys are in the cache", picture.difference)
    assert match is not None
    length, keys = len(picture.expected), len(picture.expected[0])
    assert keys == int(match[1]) + length
    rows = ["#" * (keys - length + 1 + row) + "." * (length - 1 - row) for row in range(length)]
    assert list(picture.expected) == rows
    assert picture.actual != picture.expected


def test_differences_of_masks_in_words() -> None:
    """Every kind of difference has its own sentence."""
    causal = torch.ones(2, 5, 5, dtype=torch.bool).tril()
    two_items = torch.stack([causal[0], torch.ones(5, 5, dtype=torch.bool).triu()])
    assert "inverted" in difference_in_words(~causal, causal)
    assert "shifted by 2 keys to the left" in difference_in_words(
        torch.ones(2, 4, 6, dtype=torch.bool).tril(), torch.ones(2, 4, 6, dtype=torch.bool).tril(2)
    )
    assert "transposed" in difference_in_words(causal.transpose(1, 2), causal)
    ragged = torch.rand(2, 5, 5) > 0.4
    eye = torch.eye(5, dtype=torch.bool)
    assert "no token attends to itself" in difference_in_words(ragged & ~eye, ragged | eye)
    assert "item 0" in difference_in_words(two_items[:1].expand(2, 5, 5), two_items)
    assert "queries attend to 1 key that should be hidden" in difference_in_words(
        causal
        | (torch.arange(5)[:, None] == 0)
        & (torch.arange(5) == 4)
        & (torch.arange(2) == 0)[:, None, None],
        causal,
    )


def test_complement_is_no_shift() -> None:
    """A query that sees every key keeps them all if a large number is taken from all its scores."""
    lengths = torch.tensor([2, 4])
    padding = (torch.arange(4) < lengths[:, None])[:, None].expand(2, 4, 4)
    complement = ~padding | padding.all(dim=-1, keepdim=True)
    assert "inverted" in difference_in_words(complement, padding)
    assert "shifted" not in difference_in_words(complement, padding)


def test_shift_holds_over_all_keys() -> None:
    """The keys that a shift uncovers continue the pattern, or no query attends to them."""
    causal = torch.ones(1, 5, 5, dtype=torch.bool).tril()
    shifted = torch.ones(1, 5, 5, dtype=torch.bool).tril(1)
    assert "shifted by 1 key to the right" in difference_in_words(shifted, causal)
    broken = shifted.clone()
    broken[:, 2:, 0] = False  # the uncovered key is no longer like its neighbour
    assert "shifted" not in difference_in_words(broken, causal)


def test_cached_keys_are_counted() -> None:
    """A mask without a difference has the number of cached keys too."""
    pattern = torch.ones(1, 1, 2, 5, dtype=torch.bool)
    assert compare_masks(pattern, pattern.clone(), 3, 1).cached == 3


HEAD_BY_HEAD = [
    ("qkv.permute(2, 0, 3, 1, 4)", "qkv.permute(3, 0, 2, 1, 4)"),
    (
        "(batch, length, 3, self.num_heads, self.head_dim)",
        "(batch, length, self.num_heads, 3, self.head_dim)",
    ),
]
NO_TRAINING = ("self.dropout(weights)", "nn.functional.dropout(weights, self.dropout.p)")
ALWAYS_DROPPED = ("self.dropout(weights)", "nn.functional.dropout(weights, 0.1)")
FUSED_OUT = "return self.o_proj(merged)"
NO_MASK_MISTAKE = [
    pytest.param("mha_fused", HEAD_BY_HEAD, id="fused rows head by head"),
    pytest.param("mha_fused", [*HEAD_BY_HEAD, NO_TRAINING], id="and dropout without training="),
    pytest.param("mha_fused", [*HEAD_BY_HEAD, ALWAYS_DROPPED], id="and dropout always"),
    pytest.param("mha_fused", [ALWAYS_DROPPED], id="dropout always"),
    pytest.param("mha_fused", [("q, k, v = qkv", "k, v, q = qkv")], id="parts in another order"),
    pytest.param("mha_fused", [(FUSED_OUT, "return self.o_proj(merged) + x")], id="residual"),
    pytest.param("mha_fused", [(FUSED_OUT, "return self.o_proj(merged.sqrt())")], id="NaN in all"),
    pytest.param("mha_fused", [(FUSED_OUT, "return self.o_proj(merged).sqrt()")], id="NaN in some"),
    pytest.param(
        "mha_fused",
        [("torch.softmax(scores, dim=-1)", "torch.softmax(scores * float('inf'), dim=-1)")],
        id="NaN in the weights",
    ),
    pytest.param("mha_fused", [("heads.transpose(1, 2)", "heads")], id="merged without transpose"),
    pytest.param("mha_fused", [("weights @ v", "weights @ v.roll(1, 2)")], id="values rolled"),
    pytest.param("gqa", [("weights @ v", "weights @ v.flip(2)")], id="values in reverse"),
    pytest.param("gqa", [("weights @ v", "weights @ q")], id="queries in place of values"),
    pytest.param("gqa", [("weights @ v", "weights @ k")], id="keys in place of values"),
    pytest.param("gqa", [("dim=-1)  # [B, H, L, L]", "dim=-2)")], id="softmax over queries"),
    pytest.param("sdpa", [("weights @ v", "weights @ v.flip(-2)")], id="values in reverse, sdpa"),
    pytest.param(
        "kv_cache",
        [("v = torch.cat([past_v, v], dim=2)", "v = torch.cat([v, past_v], dim=2)")],
        id="only cached values after new values",
    ),
    pytest.param(
        "kv_cache",
        [("past_k, past_v = past_kv", "past_v, past_k = past_kv")],
        id="cached keys and values swapped",
    ),
]


@pytest.mark.sampled(40)
@pytest.mark.parametrize("seed", [SEED, 19])
@pytest.mark.parametrize(("folder", "changes"), NO_MASK_MISTAKE)
def test_right_mask_is_not_blamed(
    grader: Grader, folder: str, changes: list[tuple[str, str]], seed: int
) -> None:
    """No picture is shown if an output depends on keys for another reason than attention."""
    source = pack_reader.solution(CHALLENGES[folder])
    for was, now in changes:
        assert source.count(was) == 1, was
        source = source.replace(was, now)
    _, found = diagnosed(grader, CHALLENGES[folder], source, seed=seed)
    assert found.effective_mask is None
