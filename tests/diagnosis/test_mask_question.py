"""Tests of the decision which effective masks are shown."""

import pytest

from tests.support.diagnosis import CHALLENGES, SEED, diagnosed
from trainer.grading.grader import Grader
from trainer.packs import pack_reader

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
