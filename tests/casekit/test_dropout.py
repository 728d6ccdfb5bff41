"""Tests for the words about dropout."""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional

from attn_drill.casekit import (
    Draw,
    branch_factors,
    branch_words,
    branches_apart,
    dropout_factors,
    dropout_in_turn,
)

HALF = 0.5


def test_dropout_in_turn_is_the_same_with_the_same_seed_and_quiet_in_eval_mode() -> None:
    """Right dropout differs between calls, but not with the same seed, and not in eval mode."""
    layer = nn.Dropout(HALF)
    found = dropout_in_turn(layer, lambda: layer(torch.ones(50)))
    assert [*found.values()] == ["True", "False", "as before"]
    assert not layer.training


def test_dropout_that_never_stops_or_stops_for_good_is_described() -> None:
    """Dropout in eval mode, and dropout that a call in eval mode ends, have words of their own."""
    layer = nn.Dropout(HALF)
    always = dropout_in_turn(layer, lambda: functional.dropout(torch.ones(50), HALF))
    assert [*always.values()] == ["True", "True", "as before"]

    def call() -> Tensor:
        if not layer.training:
            layer.p = 0.0
        return layer(torch.ones(50))

    lost = dropout_in_turn(layer, call)
    assert [*lost.values()] == ["True", "False", "not as before"]


def test_factors_show_how_often_dropout_acts_and_whether_it_scales() -> None:
    """Each dropout divides the kept entries by 1 - p, unless it forgets to."""
    torch.manual_seed(0)
    x = torch.randn(40, 6)
    once = functional.dropout(x, HALF)
    assert dropout_factors(x, x, HALF) == "1"
    assert dropout_factors(once, x, HALF) == "0, 1 / (1 - p)"
    assert dropout_factors(functional.dropout(once, HALF), x, HALF) == "0, 1 / (1 - p)^2"
    assert dropout_factors(once / 2, x, HALF) == "0, 1"
    assert dropout_factors(once + 0.01, x, HALF) == "other numbers"


def test_factors_show_rows_and_parts_that_are_dropped_together() -> None:
    """Whole rows, and parts of an entry, may be dropped."""
    torch.manual_seed(0)
    x = torch.ones(40, 6)
    rows = functional.dropout(torch.ones(40, 1), HALF) * x
    assert dropout_factors(rows, x, HALF) == "0, 1 / (1 - p), the same along the last dim"
    third = 0.3
    parts = sum(functional.dropout(x / 2, third) for _ in range(2))
    assert dropout_factors(parts, x, third, 2) == "0, 1/2 / (1 - p), 1 / (1 - p)"


class _Block(nn.Module):
    """Causal attention with dropout, then an MLP, with six heads of two features."""

    def __init__(self, draw: Callable[[Tensor, float], Tensor]) -> None:
        super().__init__()
        width = 12
        self.ln_1, self.ln_2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attn, self.mlp = nn.Module(), nn.Module()
        self.attn.v_proj, self.attn.o_proj = nn.Linear(width, width), nn.Linear(width, width)
        self.mlp.fc, self.mlp.proj = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.draw = draw

    def forward(self, x: Tensor) -> Tensor:
        """Return the stream [B, L, 12] after both branches."""
        p = 0.4 if self.training else 0.0
        v = self.attn.v_proj(self.ln_1(x)).unflatten(-1, (6, 2)).transpose(1, 2)
        weights = torch.ones(len(x), 6, 3, 3).tril()
        weights = self.draw(weights / weights.sum(-1, keepdim=True), p)
        heads = (weights @ v).transpose(1, 2).flatten(-2)
        x = x + functional.dropout(self.attn.o_proj(heads), p)
        return x + functional.dropout(self.mlp.proj(self.mlp.fc(self.ln_2(x)).relu()), p)


class _Model(nn.Module):
    def __init__(self, draw: Callable[[Tensor, float], Tensor]) -> None:
        super().__init__()
        self.tok_emb, self.ln_f = nn.Embedding(5, 12), nn.Identity()
        self.blocks = nn.ModuleList([_Block(draw)])

    def forward(self, tokens: Tensor) -> Tensor:
        """Return the stream before the head."""
        x = functional.dropout(self.tok_emb(tokens), 0.4 if self.training else 0.0)
        return self.ln_f(self.blocks[0](x))


@pytest.mark.parametrize(
    ("shared", "words"),
    [
        ((), "none"),
        ((0,), "of all sequences"),
        ((1,), "of all heads"),
        ((2,), "of all queries"),
    ],
)
def test_axes_that_share_a_draw_are_named(shared: tuple[int, ...], words: str) -> None:
    """The words are those of right dropout exactly if each weight has its own draw."""

    def draw(weights: Tensor, p: float) -> Tensor:
        shape = [1 if axis in shared else size for axis, size in enumerate(weights.shape)]
        return weights * functional.dropout(torch.ones(shape), p)

    model = _Model(draw)
    weights = branches_apart(Draw(3), 1, tok_emb=5)
    model.load_state_dict(weights, strict=False)
    tokens = torch.arange(5).repeat(40)[:192].view(64, 3)
    found = branch_factors(model, lambda: model(tokens), 1, 0.4)
    assert found == branch_words(1) | {"weights that are dropped together": words}
    assert not model.training
