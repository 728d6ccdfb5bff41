"""Tools for cases of blocks: small hidden values, and tokens below the size of the vocabulary."""

import torch
from torch.nn import functional as F

from attn_drill.casekit import Draw, TokenMaker, own_scores_far_below_zero, small_hidden


def test_both_forms_of_gelu_agree_on_small_hidden_values() -> None:
    """The exact GELU and its approximation with tanh differ by less than float32 shows."""
    weights = small_hidden(Draw(1), "mlp", 12)
    x = Draw(2).normal(50, 12)
    hidden = x @ weights["mlp.fc.weight"].T + weights["mlp.fc.bias"]
    difference = F.gelu(hidden) - F.gelu(hidden, approximate="tanh")
    assert float(difference.abs().max()) < 1e-6
    assert float((F.gelu(hidden) - F.relu(hidden)).abs().max()) > 1e-3


def test_tokens_are_indices_of_the_vocabulary() -> None:
    """Inputs called tokens are whole numbers from 0 to V - 1; other inputs are drawn as usual."""
    maker = TokenMaker(Draw(1), inputs={"tokens": "B L", "x": "B L"}, outputs={"out": "B L"})
    case = maker("a case", B=20, L=30, V=7)
    tokens = case.inputs["tokens"]
    assert isinstance(tokens, torch.Tensor)
    assert tokens.dtype == torch.int64
    assert (int(tokens.min()), int(tokens.max())) == (0, 6)
    x = case.inputs["x"]
    assert isinstance(x, torch.Tensor)
    assert x.is_floating_point()


def test_own_scores_are_far_below_zero() -> None:
    """After a LayerNorm, queries score about -100 with their own keys, and many far below."""
    weights = own_scores_far_below_zero(Draw(1), 12)
    x = F.layer_norm(Draw(2).normal(50, 12), (12,))
    merged = F.linear(
        x, weights["blocks.0.attn.qkv_proj.weight"], weights["blocks.0.attn.qkv_proj.bias"]
    )
    q, k, _ = merged.view(50, 3, 3, 4).unbind(1)
    scores = (q * k).sum(-1) / 2
    assert -150 < float(scores.mean()) < -75
    assert float((scores < -100).double().mean()) > 0.3
