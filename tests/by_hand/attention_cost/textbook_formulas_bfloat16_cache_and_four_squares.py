# mistakes: cache-always-16-bits, kv-projections-as-queries
"""The formulas of a blog post, one letter a size."""

BFLOAT16 = 2


def attention_params(d_model, num_heads, num_kv_heads, bias=False):
    M, H, G = d_model, num_heads, num_kv_heads
    D = M // H
    P = M * (H * D) + 2 * M * (G * D) + (H * D) * M
    return P + (H * D + 2 * G * D + M if bias else 0)


def kv_cache_bytes(batch, seq_len, num_layers, num_kv_heads, head_dim, bytes_per_element=2):
    B, T, N, G, D = batch, seq_len, num_layers, num_kv_heads, head_dim
    return 2 * B * T * N * G * D * BFLOAT16  # first wrong


def mla_cache_bytes(batch, seq_len, num_layers, kv_rank, rope_dim, bytes_per_element=2):
    B, T, N, C, R = batch, seq_len, num_layers, kv_rank, rope_dim
    return B * T * N * (C + R) * bytes_per_element


def attention_flops(batch, q_len, k_len, d_model, num_heads, num_kv_heads):
    B, T, S, M = batch, q_len, k_len, d_model
    return 8 * B * T * M**2 + 4 * B * T * S * M  # also wrong
