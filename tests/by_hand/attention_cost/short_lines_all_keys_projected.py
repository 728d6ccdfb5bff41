# mistakes: projections-of-all-keys
# diagnosis: line elsewhere
"""Short lines, an intermediate name for everything."""


def attention_params(d_model, num_heads, num_kv_heads, bias=False):
    group = num_heads // num_kv_heads
    wide = d_model
    narrow = d_model // group
    q = d_model * wide
    k = d_model * narrow
    v = d_model * narrow
    o = wide * d_model
    weights = q + k + v + o
    if bias:
        biases = wide + narrow + narrow + d_model
    else:
        biases = 0
    return weights + biases


def kv_cache_bytes(batch, seq_len, num_layers, num_kv_heads, head_dim, bytes_per_element=2):
    key = num_kv_heads * head_dim
    value = num_kv_heads * head_dim
    token = key + value
    token_bytes = token * bytes_per_element
    tokens = batch * seq_len
    layer_bytes = tokens * token_bytes
    return layer_bytes * num_layers


def mla_cache_bytes(batch, seq_len, num_layers, kv_rank, rope_dim, bytes_per_element=2):
    token = kv_rank + rope_dim
    token_bytes = token * bytes_per_element
    tokens = batch * seq_len
    layer_bytes = tokens * token_bytes
    return layer_bytes * num_layers


def attention_flops(batch, q_len, k_len, d_model, num_heads, num_kv_heads):
    group = num_heads // num_kv_heads
    narrow = d_model // group
    tokens = batch * k_len  # first wrong
    q = tokens * d_model * d_model
    k = tokens * d_model * narrow
    v = tokens * d_model * narrow
    o = tokens * d_model * d_model
    projections = q + k + v + o
    pairs = batch * q_len * k_len
    scores = pairs * d_model
    mixed = pairs * d_model
    multiply_adds = projections + scores + mixed
    return multiply_adds * 2
