# mistakes: dropout-on-heads
"""baddbmm with the mask as its bias, softmax from its parts, the layers set by name."""

import math

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout as drop


def fold(t: Tensor, heads: int) -> Tensor:
    """[B, L, H * D] -> [B * H, L, D]"""
    return t.unflatten(-1, (heads, -1)).transpose(1, 2).flatten(0, 1)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super().__init__()
        head_dim, rest = divmod(d_model, num_heads)
        if rest != 0:
            raise ValueError(f"{rest} features of {d_model} are left over")
        self.heads, self.alpha, self.rate = num_heads, 1 / math.sqrt(head_dim), dropout
        for name in "qkvo":
            setattr(self, f"{name}_proj", nn.Linear(d_model, d_model, bias=bias))

    def forward(self, query, key, value, mask=None, return_weights=False):
        sizes = (query.shape[0], self.heads, query.shape[1], key.shape[1])
        q = fold(self.q_proj(query), self.heads)
        k = fold(self.k_proj(key), self.heads)
        v = fold(self.v_proj(value), self.heads)
        bias = q.new_zeros(sizes)
        if mask is not None:
            bias = bias.masked_fill(~mask, -math.inf)
        s = torch.baddbmm(bias.flatten(0, 1), q, k.transpose(1, 2), alpha=self.alpha)
        s = s - s.max(dim=2, keepdim=True)[0].detach()
        e = s.exp()
        w = e / e.sum(2, keepdim=True)
        o = drop(w.bmm(v), self.rate, self.training)  # first wrong
        o = o.unflatten(0, sizes[:2]).transpose(1, 2).flatten(2)
        o = self.o_proj(o)
        if return_weights:
            return o, w.view(sizes)
        return o
