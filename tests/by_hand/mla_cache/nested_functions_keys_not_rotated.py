# mistakes: keys-not-rotated
"""Small functions inside forward; the parts of a head are rotated with a complex exponential."""

import torch
from torch import nn


class CachedMultiHeadLatentAttention(nn.Module):
    def __init__(
        self, d_model, num_heads, q_rank, kv_rank, nope_dim, rope_dim, v_dim, rope_base=10000.0
    ):
        super().__init__()
        H = num_heads
        self.H = H
        self.inv_freq = [rope_base ** (-i / rope_dim) for i in range(0, rope_dim, 2)]
        self.temperature = (nope_dim + rope_dim) ** 0.5
        sizes = dict(
            q_down=(d_model, q_rank), q_up=(q_rank, H * nope_dim), q_rope=(q_rank, H * rope_dim)
        )
        sizes |= dict(
            kv_down=(d_model, kv_rank), k_up=(kv_rank, H * nope_dim), v_up=(kv_rank, H * v_dim)
        )
        sizes |= dict(k_rope=(d_model, rope_dim), o_proj=(H * v_dim, d_model))
        for name, size in sizes.items():
            self.add_module(name, nn.Linear(*size, bias=False))

    def forward(self, x, cache=None):
        B, L, _ = x.shape
        P = 0 if cache is None else cache[0].shape[1]

        def heads(t):
            return t.view(B, t.shape[1], self.H, -1).transpose(1, 2)

        def spin(t):
            angle = torch.arange(P, P + L).double()[:, None] * torch.tensor(
                self.inv_freq, dtype=torch.float64
            )
            unit = torch.complex(angle.cos(), angle.sin())
            point = torch.complex(t[..., 0::2].double(), t[..., 1::2].double()) * unit
            return torch.view_as_real(point).flatten(-2).to(x.dtype)

        def grown(old, new):
            return new if cache is None else torch.cat((old, new), dim=1)

        latent = grown(cache and cache[0], self.kv_down(x))
        rotary = grown(cache and cache[1], self.k_rope(x))
        c = self.q_down(x)
        q = torch.cat((heads(self.q_up(c)), spin(heads(self.q_rope(c)))), -1)
        everywhere = rotary.unsqueeze(1).expand(-1, self.H, -1, -1)
        k = torch.cat((heads(self.k_up(latent)), everywhere), -1)  # first wrong
        s = torch.matmul(q, k.mT) / self.temperature
        s = s.masked_fill(~torch.ones(L, P + L).tril(P).bool(), -torch.inf)
        o = torch.matmul(torch.softmax(s, -1), heads(self.v_up(latent)))
        return self.o_proj(o.transpose(1, 2).flatten(2)), (latent, rotary)
