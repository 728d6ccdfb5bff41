"""Write the rotation and the attention for one head of one sequence, and map them with vmap.

vmap shares k and v within a group without copies. Each call computes the angles in float64, so
there is no table and no limit from max_seq_len, but float64 is slow on most GPUs.
"""

import torch
from torch import nn, vmap


def turn(t, cos, sin):
    a, b = t.chunk(2, dim=-1)
    return torch.hstack((a * cos - b * sin, a * sin + b * cos)).to(t.dtype)


def attend(q, k, v, keep):
    s = (q @ k.T) * q.shape[-1] ** -0.5
    s = torch.where(keep, s, torch.finfo(s.dtype).min)
    return torch.softmax(s, dim=-1) @ v


class LlamaAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, max_seq_len=2048, rope_base=10000.0):
        super().__init__()
        if d_model % num_heads != 0 or num_heads % num_kv_heads != 0:
            raise ValueError(f"{d_model} / {num_heads} / {num_kv_heads} do not divide")
        self.H, self.G, self.D, self.base = num_heads, num_kv_heads, d_model // num_heads, rope_base
        kv = self.G * self.D
        # output, values, keys, queries
        self.layers = nn.ModuleList(nn.Linear(d_model, size, bias=False) for size in (d_model, kv, kv, d_model))

    def forward(self, x, mask=None, position_ids=None):
        out, values, keys, queries = self.layers
        B, L, _ = x.shape
        if position_ids is None:
            position_ids = torch.arange(L, device=x.device).expand(B, L)
        rate = self.base ** (-2 * torch.arange(self.D // 2, device=x.device, dtype=torch.float64) / self.D)
        angle = position_ids.double()[..., None] * rate
        cos, sin = angle.cos().float(), angle.sin().float()  # [B, L, D/2]
        split = lambda t: t.unflatten(-1, (-1, self.D)).transpose(1, 2)  # noqa: E731
        over_heads = vmap(turn, in_dims=(0, None, None))
        q, k = (vmap(over_heads)(split(layer(x)), cos, sin) for layer in (queries, keys))
        keep = torch.ones(1, 1, L, L, dtype=torch.bool, device=x.device) if mask is None else mask
        keep = keep.broadcast_to(B, self.H, L, L).unflatten(1, (self.G, -1))
        over_group = vmap(attend, in_dims=(0, None, None, 0))
        heads = vmap(vmap(over_group))(q.unflatten(1, (self.G, -1)), k, split(values(x)), keep)
        return out(heads.flatten(1, 2).transpose(1, 2).flatten(2))
