"""Count the parameters of real linear layers on the meta device instead of computing them.

The meta device stores no weights, so large layers need no memory. The file needs torch, and every
count of parameters or FLOPs builds four layers first.
"""

import math

import torch


def _layers(d_model, num_heads, num_kv_heads, bias=False):
    kv_width = d_model // num_heads * num_kv_heads
    with torch.device("meta"):
        return torch.nn.ModuleList([torch.nn.Linear(d_model, width, bias=bias) for width in (d_model, kv_width, kv_width, d_model)])


def attention_params(d_model, num_heads, num_kv_heads, bias=False):
    return sum(parameter.numel() for parameter in _layers(d_model, num_heads, num_kv_heads, bias).parameters())


def kv_cache_bytes(batch, seq_len, num_layers, num_kv_heads, head_dim, bytes_per_element=2):
    return math.prod((2, num_layers, batch, num_kv_heads, seq_len, head_dim, bytes_per_element))


def mla_cache_bytes(batch, seq_len, num_layers, kv_rank, rope_dim, bytes_per_element=2):
    return int(batch * seq_len * num_layers * (kv_rank + rope_dim) * bytes_per_element)


def attention_flops(batch, q_len, k_len, d_model, num_heads, num_kv_heads):
    total = 2 * batch * q_len * attention_params(d_model, num_heads, num_kv_heads)
    for _ in ("scores", "weighted values"):
        total += 2 * batch * num_heads * q_len * k_len * (d_model // num_heads)
    return total
