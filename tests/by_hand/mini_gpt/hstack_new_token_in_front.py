# mistakes: new-token-in-front
"""With types and docstrings: heads folded into the batch, baddbmm on a causal bias, hstack."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor, nn


class CausalAttention(nn.Module):
    """Multi-head self-attention over the batch times the heads."""

    def __init__(self, dim: int, n_heads: int, dropout: float) -> None:
        super().__init__()
        head_dim, rest = divmod(dim, n_heads)
        if rest:
            raise ValueError(f"dim={dim} leaves a rest of {rest} for n_heads={n_heads}")
        self.n_heads = n_heads
        self.head_dim = head_dim
        self.in_proj = nn.Linear(dim, 3 * dim)
        self.out_proj = nn.Linear(dim, dim)
        self.dropout = dropout

    def fold(self, x: Tensor) -> Tensor:
        """[B, L, H * D] -> [B * H, L, D]"""
        batch, length, _ = x.shape
        x = x.view(batch, length, self.n_heads, self.head_dim)
        return x.transpose(1, 2).flatten(0, 1)

    def unfold(self, x: Tensor) -> Tensor:
        """[B * H, L, D] -> [B, L, H * D]"""
        x = x.unflatten(0, (-1, self.n_heads))
        return x.transpose(1, 2).flatten(2)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        """Attend; `bias` [L, L] is added to the scores."""
        q, k, v = map(self.fold, self.in_proj(x).tensor_split(3, dim=2))
        scores = torch.baddbmm(bias, q, k.mT, alpha=1 / self.head_dim**0.5)
        weights = F.dropout(scores.softmax(2), self.dropout, self.training)
        return self.out_proj(self.unfold(torch.bmm(weights, v)))


class FeedForward(nn.Module):
    """The two layers of a block after the attention."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.fc = nn.Linear(dim, 4 * dim)
        self.proj = nn.Linear(4 * dim, dim)

    def forward(self, x: Tensor) -> Tensor:
        """Widen, bend, narrow."""
        x = self.fc(x)
        x = x * 0.5 * torch.erfc(-x * 0.5**0.5)  # gelu
        return self.proj(x)


class DecoderLayer(nn.Module):
    """A pre-norm block."""

    def __init__(self, dim: int, n_heads: int, dropout: float) -> None:
        super().__init__()
        self.ln_1 = nn.LayerNorm(dim)
        self.attn = CausalAttention(dim, n_heads, dropout)
        self.ln_2 = nn.LayerNorm(dim)
        self.mlp = FeedForward(dim)
        self.dropout1 = nn.Dropout(dropout)
        self.dropout2 = nn.Dropout(dropout)

    def forward(self, x: Tensor, bias: Tensor) -> Tensor:
        """Add both branches to x."""
        x = x + self.dropout1(self.attn(self.ln_1(x), bias))
        return x + self.dropout2(self.mlp(self.ln_2(x)))


class MiniGPT(nn.Module):
    """A decoder-only language model."""

    def __init__(
        self,
        vocab_size: int,
        d_model: int,
        num_heads: int,
        num_layers: int,
        max_seq_len: int,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(max_seq_len, d_model)
        self.dropout = nn.Dropout(dropout)
        layers = [DecoderLayer(d_model, num_heads, dropout) for _ in range(num_layers)]
        self.blocks = nn.ModuleList(layers)
        self.ln_f = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        for module in self.modules():
            match module:
                case nn.Embedding():
                    nn.init.normal_(module.weight, std=0.02)
                case nn.Linear(bias=None):
                    nn.init.normal_(module.weight, std=0.02)
                case nn.Linear():
                    nn.init.normal_(module.weight, std=0.02)
                    nn.init.zeros_(module.bias)

    @property
    def context_size(self) -> int:
        """The largest number of tokens."""
        return self.pos_emb.num_embeddings

    def forward(self, tokens: Tensor) -> Tensor:
        """[B, L] -> [B, L, V]"""
        length = tokens.size(-1)
        if length > self.context_size:
            raise ValueError(f"{length} tokens do not fit into {self.context_size} positions")
        x = self.dropout(self.tok_emb(tokens) + self.pos_emb.weight[:length])
        bias = x.new_full((length, length), float("-inf")).triu_(diagonal=1)
        for layer in self.blocks:
            x = layer(x, bias)
        return self.head(self.ln_f(x))


def next_token_loss(logits: Tensor, tokens: Tensor) -> Tensor:
    """The mean negative log-likelihood of tokens 1 to L - 1."""
    log_probs = F.log_softmax(logits, dim=-1)[:, :-1]
    return F.nll_loss(log_probs.flatten(0, 1), tokens[:, 1:].flatten())


def train_step(
    model: nn.Module, optimizer: torch.optim.Optimizer, tokens: Tensor, max_norm: float = 1.0
) -> float:
    """Make one update."""
    model.train()
    optimizer.zero_grad(set_to_none=True)
    with torch.enable_grad():
        loss = next_token_loss(model(tokens), tokens)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm=max_norm)
    optimizer.step()
    return loss.item()


@contextlib.contextmanager
def inference(model: nn.Module) -> Iterator[None]:
    """Evaluate within the block."""
    training = model.training
    model.eval()
    try:
        with torch.no_grad():
            yield
    finally:
        model.train(training)


def greedy(model: nn.Module, context: Tensor) -> Tensor:
    """The most likely token after the context, [B, 1]."""
    *_, last = model(context).unbind(1)
    return last.max(dim=1, keepdim=True).indices


def generate(model: nn.Module, tokens: Tensor, max_new_tokens: int) -> Tensor:
    """Append the most likely tokens."""
    with inference(model):
        for _ in range(max_new_tokens):
            new = greedy(model, tokens[:, -model.context_size :])
            tokens = torch.hstack((new, tokens))  # first wrong
    return tokens
