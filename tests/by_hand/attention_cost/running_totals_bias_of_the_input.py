# mistakes: bias-as-long-as-the-input
"""A running total, one layer or one tensor at a time."""


def attention_params(d_model, num_heads, num_kv_heads, bias=False):
    head_dim = d_model // num_heads
    total = 0
    for heads_out in (num_heads, num_kv_heads, num_kv_heads, num_heads):
        features = heads_out * head_dim
        total += d_model * features
        if bias:
            total += d_model  # first wrong
    return total


def kv_cache_bytes(batch, seq_len, num_layers, num_kv_heads, head_dim, bytes_per_element=2):
    total = 0
    for _ in ("keys", "values"):
        total += num_kv_heads * head_dim
    total *= batch * seq_len
    total *= num_layers
    total *= bytes_per_element
    return total


def mla_cache_bytes(batch, seq_len, num_layers, kv_rank, rope_dim, bytes_per_element=2):
    total = kv_rank
    total += rope_dim
    total *= batch * seq_len
    total *= num_layers
    total *= bytes_per_element
    return total


def attention_flops(batch, q_len, k_len, d_model, num_heads, num_kv_heads):
    head_dim = d_model // num_heads
    total = 0
    for heads_out in (num_heads, num_kv_heads, num_kv_heads, num_heads):
        total += d_model * heads_out * head_dim
    for _ in ("scores", "mixed values"):
        total += k_len * num_heads * head_dim
    total *= batch * q_len
    return 2 * total
