# mistakes: mask-of-the-first-item, residual-added
"""The weights are cut into heads and met by einsum, the activations never reshaped."""

import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_model, num_heads, memory_dim=None, bias=True):
        super().__init__()
        if d_model % num_heads > 0:
            raise ValueError(f"d_model {d_model} / num_heads {num_heads}")
        self.shape = (num_heads, d_model // num_heads)
        if memory_dim is None:
            memory_dim = d_model
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(memory_dim, d_model, bias=bias)
        self.v_proj = nn.Linear(memory_dim, d_model, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)

    def cut(self, layer, tokens):
        """[B, L, width] -> [B, H, L, D]"""
        out = torch.einsum("ble,hde->bhld", tokens, layer.weight.unflatten(0, self.shape))
        return out if layer.bias is None else out + layer.bias.view(self.shape).unsqueeze(1)

    def forward(self, x, memory, memory_mask=None):
        queries = self.cut(self.q_proj, x) * self.shape[1] ** -0.5
        keys = self.cut(self.k_proj, memory)
        values = self.cut(self.v_proj, memory)
        table = torch.einsum("bhid,bhjd->bhij", queries, keys)
        if memory_mask is not None:
            table = table.masked_fill(~memory_mask[0], float("-inf"))  # first wrong
        table = torch.exp(table - table.amax(dim=-1, keepdim=True).detach())
        mixed = torch.einsum("bhij,bhjd->bhid", table, values) / table.sum(dim=-1, keepdim=True)
        weight = self.o_proj.weight.unflatten(1, self.shape)
        result = torch.einsum("bhid,mhd->bim", mixed, weight)
        if self.o_proj.bias is not None:
            result = result + self.o_proj.bias
        return x + result  # also wrong
