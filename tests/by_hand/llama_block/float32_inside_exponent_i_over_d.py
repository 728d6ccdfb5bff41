# mistakes: exponent-i-over-d
"""float32 for norm, rotation and softmax; angles of each call from inverse frequencies."""

import torch
from torch import nn


def up(t):
    return t.to(torch.promote_types(t.dtype, torch.float32))


class Norm(nn.Module):
    def __init__(self, width, eps):
        super().__init__()
        self.weight, self.eps = nn.Parameter(torch.ones(width)), eps

    def forward(self, t):
        return (self.weight * (up(t) / (up(t).square().mean(-1, keepdim=True) + self.eps) ** 0.5)).to(t.dtype)


class Rotation:
    def __init__(self, dim, base):
        self.inv_freq = torch.tensor([base ** -(i / dim) for i in range(dim // 2)])  # first wrong

    def __call__(self, t, places):
        angle = places[:, :, None, None].float() * self.inv_freq
        cos, sin = torch.cos(angle), torch.sin(angle)
        a, b = up(t).chunk(2, -1)
        return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1).to(t.dtype)


class Attend(nn.Module):
    def __init__(self, width, heads, kv_heads, dim, base):
        super().__init__()
        if (not dim and width % heads != 0) or heads % kv_heads != 0:
            raise ValueError(f"{width} {heads} {kv_heads}")
        self.dim, self.share = dim or width // heads, heads // kv_heads
        self.to_q = nn.Linear(width, heads * self.dim, bias=False)
        self.to_k = nn.Linear(width, kv_heads * self.dim, bias=False)
        self.to_v = nn.Linear(width, kv_heads * self.dim, bias=False)
        self.to_out = nn.Linear(heads * self.dim, width, bias=False)
        self.rotation = Rotation(self.dim, base)

    def forward(self, t, places):
        n = t.shape[1]
        if places is None:
            places = torch.arange(n).unsqueeze(0)
        q = self.rotation(self.to_q(t).unflatten(-1, (-1, self.dim)), places)
        k = self.rotation(self.to_k(t).unflatten(-1, (-1, self.dim)), places)
        v = self.to_v(t).unflatten(-1, (-1, self.dim))
        k, v = k.repeat_interleave(self.share, 2), v.repeat_interleave(self.share, 2)
        scores = up(q.transpose(1, 2) @ k.permute(0, 2, 3, 1)) / self.dim**0.5
        later = torch.arange(n) > torch.arange(n)[:, None]
        weights = scores.masked_fill(later, float("-inf")).softmax(-1).to(t.dtype)
        return self.to_out((weights @ v.transpose(1, 2)).transpose(1, 2).flatten(2))


class Feed(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.w1 = nn.Linear(width, hidden, bias=False)
        self.w3 = nn.Linear(width, hidden, bias=False)
        self.w2 = nn.Linear(hidden, width, bias=False)
        self.act = nn.SiLU()

    def forward(self, t):
        return self.w2(self.act(self.w1(t)).mul(self.w3(t)))


class LlamaBlock(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, hidden_dim, head_dim=None, max_seq_len=2048, rope_base=10000.0, eps=1e-6):
        super().__init__()
        self.attn = Attend(d_model, num_heads, num_kv_heads, head_dim, rope_base)
        self.mlp = Feed(d_model, hidden_dim)
        self.input_norm = Norm(d_model, eps)
        self.post_norm = Norm(d_model, eps)

    def forward(self, x, position_ids=None):
        for norm, branch in ((self.input_norm, lambda t: self.attn(t, position_ids)), (self.post_norm, self.mlp)):
            x = x + branch(norm(x))
        return x
