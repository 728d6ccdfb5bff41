# mistakes: values-viewed-without-transpose
"""Three products instead of seven: weights that read the same vector are laid on top of each other."""

import torch
import torch.nn.functional as F
from torch import nn


def rope(t, pos, base):
    d = t.shape[-1]
    w = torch.exp(torch.arange(0, d, 2, device=t.device) / d * -torch.log(torch.tensor(float(base))))
    ang = pos[:, None, :, None].float() * w
    c, s = ang.cos().to(t.dtype), ang.sin().to(t.dtype)
    even, odd = t.unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack([even * c - odd * s, even * s + odd * c], -1).flatten(-2)


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, d_model, num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base=10000.0):
        super().__init__()
        lin = lambda i, o: nn.Linear(i, o, bias=False)  # noqa: E731
        self.cfg = num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base
        self.q_down, self.kv_down, self.k_rope = lin(d_model, q_rank), lin(d_model, kv_rank), lin(d_model, rope_dim)
        self.q_up, self.q_rope = lin(q_rank, num_heads * nope_dim), lin(q_rank, num_heads * rope_dim)
        self.k_up, self.v_up = lin(kv_rank, num_heads * nope_dim), lin(kv_rank, num_heads * v_dim)
        self.o_proj = lin(num_heads * v_dim, d_model)

    def forward(self, x, mask=None, position_ids=None):
        (B, L, _), (H, Rq, Rkv, Dn, Dr, Dv, base) = x.shape, self.cfg
        pos = torch.arange(L, device=x.device).expand(B, L) if position_ids is None else position_ids
        fuse = lambda t, *layers: F.linear(t, torch.cat([layer.weight for layer in layers]))  # noqa: E731
        cq, ckv, kr = fuse(x, self.q_down, self.kv_down, self.k_rope).split([Rq, Rkv, Dr], -1)
        qn, qr = fuse(cq, self.q_up, self.q_rope).split([H * Dn, H * Dr], -1)
        kn, v = fuse(ckv, self.k_up, self.v_up).split([H * Dn, H * Dv], -1)
        qn, qr, kn = qn.unflatten(-1, (H, Dn)).transpose(1, 2), qr.unflatten(-1, (H, Dr)).transpose(1, 2), kn.unflatten(-1, (H, Dn)).transpose(1, 2)
        v = v.reshape(B, H, L, Dv)  # first wrong
        q, k = torch.cat([qn, rope(qr, pos, base)], -1), torch.cat([kn, rope(kr[:, None], pos, base).expand(-1, H, -1, -1)], -1)
        s = q @ k.transpose(2, 3) * (Dn + Dr) ** -0.5
        p = (s if mask is None else s.masked_fill(mask.logical_not(), float("-inf"))).softmax(dim=3)
        return self.o_proj((p @ v).transpose(1, 2).reshape(B, L, H * Dv))
