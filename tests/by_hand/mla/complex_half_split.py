# mistakes: half-split
"""The rotation by complex numbers, in functions nested in forward."""

import torch
from torch import nn


class MultiHeadLatentAttention(nn.Module):
    def __init__(self, d_model, num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base=10000.0):
        super().__init__()
        H = num_heads
        self.H = H
        self.inv_freq = [rope_base ** (-i / rope_dim) for i in range(0, rope_dim, 2)]
        self.temperature = (nope_dim + rope_dim) ** 0.5
        sizes = dict(q_down=(d_model, q_rank), q_up=(q_rank, H * nope_dim), q_rope=(q_rank, H * rope_dim))
        sizes |= dict(kv_down=(d_model, kv_rank), k_up=(kv_rank, H * nope_dim), v_up=(kv_rank, H * v_dim))
        sizes |= dict(k_rope=(d_model, rope_dim), o_proj=(H * v_dim, d_model))
        for name, size in sizes.items():
            self.add_module(name, nn.Linear(*size, bias=False))

    def forward(self, x, mask=None, position_ids=None):
        B, L, _ = x.shape
        where = torch.arange(L).repeat(B, 1) if position_ids is None else position_ids
        angle = where.double()[:, None, :, None] * torch.tensor(self.inv_freq, dtype=torch.float64)
        unit = torch.complex(angle.cos(), angle.sin())  # [B, 1, L, Dr/2]

        def heads(t):
            return t.view(B, L, self.H, -1).transpose(1, 2)

        def spin(t):
            real, imag = t.double().tensor_split(2, dim=-1)  # first wrong
            turned = torch.complex(real, imag) * unit
            return torch.cat((turned.real, turned.imag), dim=-1).to(x.dtype)

        def attend(q, k, v):
            s = torch.matmul(q, k.mT) / self.temperature
            s = s if mask is None else s.masked_fill(~mask, -torch.inf)
            return torch.matmul(torch.softmax(s, -1), v)

        cq = self.q_down(x)
        ckv = self.kv_down(x)
        shared = spin(self.k_rope(x).unsqueeze(1)).expand(B, self.H, L, -1)
        q = torch.cat((heads(self.q_up(cq)), spin(heads(self.q_rope(cq)))), -1)
        k = torch.cat((heads(self.k_up(ckv)), shared), -1)
        o = attend(q, k, heads(self.v_up(ckv)))
        return self.o_proj(o.transpose(1, 2).flatten(2))
