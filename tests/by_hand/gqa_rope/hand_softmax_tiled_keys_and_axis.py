# mistakes: keys-tiled, softmax-over-queries
"""Free functions for every step; the rotation as a product with a matrix of signs."""

import torch
from torch import nn


def angles_of(positions, dim, base):
    exponent = torch.arange(dim, device=positions.device) % (dim // 2) * 2 / dim
    return positions.float()[..., None] * base**-exponent


def rotated(t, angles):
    dim = t.shape[-1]
    eye = torch.eye(dim // 2, dtype=t.dtype, device=t.device)
    nought = torch.zeros_like(eye)
    swap = torch.cat((torch.cat((nought, eye), 1), torch.cat((-eye, nought), 1)), 0)
    return t * angles.cos().to(t.dtype) + (t @ swap) * angles.sin().to(t.dtype)


def normalised(scores):
    e = torch.exp(scores - scores.amax(dim=2, keepdim=True))  # also wrong
    return e / e.sum(dim=2, keepdim=True)


def spread_keys(k, times):
    return k.tile(1, times, 1, 1)  # first wrong


def spread_values(v, times):
    b, g, n, d = v.shape
    return v.unsqueeze(2).expand(b, g, times, n, d).reshape(b, g * times, n, d)


class LlamaAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, max_seq_len=2048, rope_base=10000.0):
        super().__init__()
        if d_model % num_heads > 0:
            raise ValueError("d_model")
        if num_heads % num_kv_heads > 0:
            raise ValueError("num_heads")
        self.heads, self.kv_heads, self.base = num_heads, num_kv_heads, rope_base
        self.dim = d_model // num_heads
        self.W_query = nn.Linear(d_model, d_model, bias=False)
        self.W_key = nn.Linear(d_model, num_kv_heads * self.dim, bias=False)
        self.W_value = nn.Linear(d_model, num_kv_heads * self.dim, bias=False)
        self.dense = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, mask=None, position_ids=None):
        b, n, m = x.shape
        q = self.W_query(x).view(b, n, self.heads, self.dim).swapaxes(1, 2)
        k = self.W_key(x).view(b, n, self.kv_heads, self.dim).swapaxes(1, 2)
        v = self.W_value(x).view(b, n, self.kv_heads, self.dim).swapaxes(1, 2)
        positions = torch.arange(n, device=x.device)[None] if position_ids is None else position_ids
        angles = angles_of(positions, self.dim, self.base)[:, None]
        q, k = rotated(q, angles), rotated(k, angles)
        times = self.heads // self.kv_heads
        k, v = spread_keys(k, times), spread_values(v, times)
        scores = torch.matmul(q, k.swapaxes(2, 3)) / self.dim**0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, float("-inf"))
        return self.dense(torch.matmul(normalised(scores), v).swapaxes(1, 2).reshape(b, n, m))
