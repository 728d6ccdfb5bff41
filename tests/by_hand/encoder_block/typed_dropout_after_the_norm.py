# mistakes: dropout-after-the-norm
"""Type hints everywhere, and the dropout around the norm, as in a popular video."""

import torch
from torch import Tensor, nn


class MultiHead(nn.Module):
    def __init__(self, width: int, heads: int, p: float) -> None:
        super().__init__()
        assert width % heads == 0
        self.heads = heads
        self.W_q = nn.Linear(width, width)
        self.W_k = nn.Linear(width, width)
        self.W_v = nn.Linear(width, width)
        self.W_o = nn.Linear(width, width)
        self.drop = nn.Dropout(p)

    def split(self, t: Tensor) -> Tensor:
        return t.reshape(t.shape[0], t.shape[1], self.heads, -1).permute(0, 2, 1, 3)

    def forward(self, x: Tensor, real: Tensor | None) -> Tensor:
        q, k, v = self.split(self.W_q(x)), self.split(self.W_k(x)), self.split(self.W_v(x))
        scores = (q / q.shape[-1] ** 0.5) @ k.transpose(-1, -2)
        if real is not None:
            scores = scores.masked_fill(real.logical_not()[:, None, None, :], -1e9)
        mixed = self.drop(torch.softmax(scores, -1)) @ v
        return self.W_o(mixed.permute(0, 2, 1, 3).reshape(x.shape))


class FeedForward(nn.Module):
    def __init__(self, width: int, hidden: int) -> None:
        super().__init__()
        self.fc = nn.Linear(width, hidden)
        self.relu = nn.ReLU()
        self.proj = nn.Linear(hidden, width)

    def forward(self, x: Tensor) -> Tensor:
        return self.proj(self.relu(self.fc(x)))


class EncoderBlock(nn.Module):
    def __init__(self, d_model: int, num_heads: int, hidden_dim: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.self_attn = MultiHead(d_model, num_heads, dropout)
        self.norm_1 = nn.LayerNorm(d_model)
        self.norm_2 = nn.LayerNorm(d_model)
        self.mlp = FeedForward(d_model, hidden_dim)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x: Tensor, padding_mask: Tensor | None = None) -> Tensor:
        attention = self.self_attn(x, padding_mask)
        x = self.dropout(self.norm_1(attention + x))  # first wrong
        forward = self.dropout(self.mlp(x))
        return self.norm_2(forward + x)
