# mistakes: square-kv
# diagnosis: line elsewhere
"""A real module on the meta device gives the parameters; FLOPs from the shapes of its matrix products."""

import torch
from torch import nn


class Layer(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, bias):
        super().__init__()
        kv_dim = d_model // num_heads * num_kv_heads
        self.q = nn.Linear(d_model, d_model, bias=bias)
        self.k = nn.Linear(kv_dim, kv_dim, bias=bias)  # first wrong
        self.v = nn.Linear(kv_dim, kv_dim, bias=bias)
        self.o = nn.Linear(d_model, d_model, bias=bias)


def matmul(rows, inner, columns):
    return 2 * rows * inner * columns


def attention_params(d_model, num_heads, num_kv_heads, bias=False):
    with torch.device("meta"):
        layer = Layer(d_model, num_heads, num_kv_heads, bias)
    return sum(p.numel() for p in layer.parameters())


def kv_cache_bytes(batch, seq_len, num_layers, num_kv_heads, head_dim, bytes_per_element=2):
    one = torch.Size([batch, num_kv_heads, seq_len, head_dim]).numel() * bytes_per_element
    return num_layers * (one + one)


def mla_cache_bytes(batch, seq_len, num_layers, kv_rank, rope_dim, bytes_per_element=2):
    latent = torch.Size([batch, seq_len, kv_rank])
    rotary = torch.Size([batch, seq_len, rope_dim])
    return num_layers * bytes_per_element * (latent.numel() + rotary.numel())


def attention_flops(batch, q_len, k_len, d_model, num_heads, num_kv_heads):
    head_dim = d_model // num_heads
    tokens = batch * q_len
    q = o = matmul(tokens, d_model, d_model)
    k = v = matmul(tokens, d_model, head_dim * num_kv_heads)
    qk = batch * num_heads * matmul(q_len, head_dim, k_len)
    av = batch * num_heads * matmul(q_len, k_len, head_dim)
    return q + k + v + qk + av + o
