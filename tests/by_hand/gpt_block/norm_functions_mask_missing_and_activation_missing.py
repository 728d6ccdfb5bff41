# mistakes: causal-mask-missing, activation-missing
"""The library's norm as a function with the weights of the modules, and queries scaled first."""

import torch
import torch.nn.functional as F
from torch import nn


def normed(x, layer):
    return F.layer_norm(x, x.shape[-1:], layer.weight, layer.bias, layer.eps)


class Heads(nn.Module):
    def __init__(self, d_model, count, p):
        super().__init__()
        if d_model % count > 0:
            raise ValueError(f"{d_model} is not a multiple of {count}")
        self.count, self.p = count, p
        self.qkv_proj = nn.Linear(d_model, 3 * d_model)
        self.o_proj = nn.Linear(d_model, d_model)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = torch.tensor_split(self.qkv_proj(x), 3, dim=2)
        q = q.reshape(b, n, self.count, -1).swapaxes(1, 2)
        k = k.reshape(b, n, self.count, -1).swapaxes(1, 2)
        v = v.reshape(b, n, self.count, -1).swapaxes(1, 2)
        q = q * (d / self.count) ** -0.5
        w = torch.softmax(q @ k.swapaxes(2, 3), dim=-1)  # first wrong
        w = F.dropout(w, p=self.p, training=self.training)
        return self.o_proj((w @ v).swapaxes(1, 2).reshape(b, n, d))


class TwoLayers(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.fc = nn.Linear(d_model, 4 * d_model)
        self.proj = nn.Linear(4 * d_model, d_model)

    def forward(self, x):
        return self.proj(self.fc(x))  # also wrong


class GPTBlock(nn.Module):
    def __init__(self, d_model, num_heads, dropout=0.0):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.attn, self.mlp = Heads(d_model, num_heads, dropout), TwoLayers(d_model)
        self.p = dropout

    def forward(self, x):
        x = x + F.dropout(self.attn(normed(x, self.ln_1)), self.p, self.training)
        return x + F.dropout(self.mlp(normed(x, self.ln_2)), self.p, self.training)
