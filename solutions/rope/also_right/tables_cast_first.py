"""Cast the tables to the dtype of q before the products, as model libraries do.

In bfloat16, the products read and write half as many bytes as in float32, but the rounded tables
and products make the result less accurate.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F


class RotaryEmbedding(nn.Module):
    def __init__(self, dim: int, max_position_embeddings: int = 2048, base: float = 10000.0) -> None:
        super().__init__()
        inv_freq = 1.0 / (base ** (torch.arange(0, dim, 2, dtype=torch.int64).to(torch.float32) / dim))
        self.register_buffer("inv_freq", inv_freq, persistent=False)
        self.max_position_embeddings = max_position_embeddings

    @torch.no_grad()
    def forward(self) -> tuple[torch.Tensor, torch.Tensor]:
        t = torch.arange(self.max_position_embeddings, dtype=self.inv_freq.dtype)
        freqs = torch.outer(t, self.inv_freq)
        emb = torch.cat((freqs, freqs), dim=-1)
        return emb.cos(), emb.sin()


def rope_cos_sin(head_dim, max_seq_len, base=10000.0):
    return RotaryEmbedding(head_dim, max_seq_len, base)()


def rotate_half(x):
    x1 = x[..., : x.shape[-1] // 2]
    x2 = x[..., x.shape[-1] // 2 :]
    return torch.cat((-x2, x1), dim=-1)


def apply_rope(q, k, cos, sin, position_ids=None):
    if position_ids is None:
        cos, sin = cos[: q.shape[-2]], sin[: q.shape[-2]]
    else:
        cos, sin = F.embedding(position_ids, cos)[:, None], F.embedding(position_ids, sin)[:, None]
    cos, sin = cos.to(dtype=q.dtype), sin.to(dtype=q.dtype)
    q_embed = (q * cos) + (rotate_half(q) * sin)
    k_embed = (k * cos) + (rotate_half(k) * sin)
    return q_embed, k_embed
