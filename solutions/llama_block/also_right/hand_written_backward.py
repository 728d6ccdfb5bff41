"""Write the backward of the norm and of the gate by hand, and keep no intermediate result.

The hand-written functions save only their inputs and recompute the rest, which saves memory of the
size of the hidden values. Every hand-written derivative is one more place for a mistake.
"""

import torch
from torch import nn


class Rms(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, eps):
        ctx.save_for_backward(x, weight)
        ctx.eps = eps
        return x * torch.rsqrt((x * x).mean(-1, keepdim=True) + eps) * weight

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        inverse = torch.rsqrt((x * x).mean(-1, keepdim=True) + ctx.eps)
        normed, inner = x * inverse, grad * weight
        dx = inverse * (inner - normed * (inner * normed).mean(-1, keepdim=True))
        return dx, (grad * normed).flatten(0, -2).sum(0), None


class Gate(torch.autograd.Function):
    @staticmethod
    def forward(ctx, gate, up):
        ctx.save_for_backward(gate, up)
        return gate * gate.sigmoid() * up

    @staticmethod
    def backward(ctx, grad):
        gate, up = ctx.saved_tensors
        s = gate.sigmoid()
        return grad * up * (s + gate * s * (1 - s)), grad * gate * s


class Weight(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))


class Layers(nn.Module):
    def __init__(self, **sizes):
        super().__init__()
        for name, (columns, rows) in sizes.items():
            self.add_module(name, nn.Linear(columns, rows, bias=False))


class LlamaBlock(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, hidden_dim, head_dim=None, max_seq_len=2048, rope_base=10000.0, eps=1e-6):
        super().__init__()
        m, f = d_model, hidden_dim
        self.dim, left = divmod(m, num_heads) if head_dim is None else (head_dim, 0)
        self.share, odd = divmod(num_heads, num_kv_heads)
        if left or odd:
            raise ValueError(f"{m} / {num_heads} leaves {left}, {num_heads} / {num_kv_heads} leaves {odd}")
        all_heads, kv, self.eps = num_heads * self.dim, num_kv_heads * self.dim, eps
        self.input_norm, self.post_norm = Weight(m), Weight(m)
        self.attn = Layers(q_proj=(m, all_heads), k_proj=(m, kv), v_proj=(m, kv), o_proj=(all_heads, m))
        self.mlp = Layers(gate_proj=(m, f), up_proj=(m, f), down_proj=(f, m))
        self.inv_freq = rope_base ** -(torch.arange(0, self.dim, 2).float() / self.dim)

    def attend(self, y, position_ids):
        n = y.shape[1]
        if position_ids is None:
            position_ids = torch.arange(n, device=y.device)[None]
        angle = position_ids[:, None, :, None].float() * self.inv_freq.to(y.device)
        cos, sin = angle.cos().to(y.dtype), angle.sin().to(y.dtype)

        def heads(layer):
            return layer(y).unflatten(-1, (-1, self.dim)).movedim(2, 1)

        def turned(t):
            a, b = torch.chunk(t, 2, -1)
            return torch.cat((a * cos - b * sin, a * sin + b * cos), -1)

        q, k, v = turned(heads(self.attn.q_proj)), turned(heads(self.attn.k_proj)), heads(self.attn.v_proj)
        q = q.unflatten(1, (-1, self.share))  # [B, Hkv, H / Hkv, L, D]
        scores = (q @ k.unsqueeze(2).mT) / self.dim**0.5
        hidden = torch.ones(n, n, device=y.device).tril() == 0
        weights = (scores.masked_fill(hidden, -torch.inf)).log_softmax(-1).exp()
        mixed = (weights @ v.unsqueeze(2)).flatten(1, 2)
        return self.attn.o_proj(mixed.movedim(1, 2).flatten(2))

    def forward(self, x, position_ids=None):
        x = x + self.attend(Rms.apply(x, self.input_norm.weight, self.eps), position_ids)
        y = Rms.apply(x, self.post_norm.weight, self.eps)
        return x + self.mlp.down_proj(Gate.apply(self.mlp.gate_proj(y), self.mlp.up_proj(y)))
