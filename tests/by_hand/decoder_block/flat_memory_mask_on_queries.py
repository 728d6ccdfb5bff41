# mistakes: memory-mask-on-queries
"""The two attentions are written out one after the other in forward, with all layers in plain view."""

import math

import torch
import torch.nn as nn


class Layers(nn.Module):
    def __init__(self, n_out, n_in):
        super().__init__()
        self.W_q = nn.Linear(n_out, n_out)
        self.W_k = nn.Linear(n_in, n_out)
        self.W_v = nn.Linear(n_in, n_out)
        self.W_o = nn.Linear(n_out, n_out)


class FeedForward(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.c_fc = nn.Linear(n, 4 * n)
        self.gelu = nn.GELU(approximate="tanh")
        self.c_proj = nn.Linear(4 * n, n)

    def forward(self, x):
        return self.c_proj(self.gelu(self.c_fc(x)))


class DecoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, memory_dim):
        super().__init__()
        assert d_model % num_heads == 0, f"{d_model} % {num_heads}"
        self.n_head = num_heads
        self.norm_1 = nn.LayerNorm(d_model)
        self.norm_2 = nn.LayerNorm(d_model)
        self.norm_3 = nn.LayerNorm(d_model)
        self.self_attn = Layers(d_model, d_model)
        self.cross_attn = Layers(d_model, memory_dim)
        self.mlp = FeedForward(d_model)

    def forward(self, x, memory, memory_mask=None):
        B, T, C = x.size()
        S = memory.size(1)
        H, D = self.n_head, C // self.n_head

        y = self.norm_1(x)
        q = self.self_attn.W_q(y).view(B, T, H, D).transpose(1, 2)
        k = self.self_attn.W_k(y).view(B, T, H, D).transpose(1, 2)
        v = self.self_attn.W_v(y).view(B, T, H, D).transpose(1, 2)
        att = q @ k.transpose(-2, -1) / math.sqrt(D)
        ahead = torch.triu(torch.ones(T, T, device=x.device), diagonal=1) == 1
        att = att.masked_fill(ahead, float("-inf"))
        y = att.softmax(dim=-1) @ v
        x = x + self.self_attn.W_o(y.transpose(1, 2).contiguous().view(B, T, C))

        y = self.norm_2(x)
        q = self.cross_attn.W_q(y).view(B, T, H, D).transpose(1, 2)
        k = self.cross_attn.W_k(memory).view(B, S, H, D).transpose(1, 2)
        v = self.cross_attn.W_v(memory).view(B, S, H, D).transpose(1, 2)
        att = q @ k.transpose(-2, -1) / math.sqrt(D)
        if memory_mask is not None:
            rows = memory_mask.unsqueeze(1).unsqueeze(-1)
            att = att.masked_fill(~rows, float("-inf"))  # first wrong
        y = att.softmax(dim=-1) @ v
        x = x + self.cross_attn.W_o(y.transpose(1, 2).contiguous().view(B, T, C))

        return x + self.mlp(self.norm_3(x))
