"""Count multiply-adds through the number of parameters, and double them at the end with a shift.

The FLOPs of the projections reuse attention_params, so the sizes are written in one place. The
argument `**unused` accepts everything, so it also hides a misspelt keyword.
"""


def attention_params(d_model, num_heads, num_kv_heads, bias=False, **unused):
    assert d_model % num_heads == 0
    total = 0
    for heads in (num_heads, num_kv_heads, num_kv_heads):
        total += (d_model + int(bias)) * heads * (d_model // num_heads)
    return total + d_model * d_model + (d_model if bias else 0)


def _cache(tokens, layers, elements, size):
    return tokens * layers * elements * size


def kv_cache_bytes(batch, seq_len, num_layers, num_kv_heads, head_dim, bytes_per_element=2):
    return sum(_cache(batch * seq_len, num_layers, num_kv_heads * head_dim, bytes_per_element) for _ in ("k", "v"))


def mla_cache_bytes(batch, seq_len, num_layers, kv_rank, rope_dim, bytes_per_element=2):
    return _cache(batch * seq_len, num_layers, kv_rank + rope_dim, bytes_per_element)


def attention_flops(batch, q_len, k_len, d_model, num_heads, num_kv_heads):
    tokens = batch * q_len
    macs = tokens * attention_params(d_model, num_heads, num_kv_heads)
    macs += tokens * k_len * d_model  # scores
    macs += tokens * k_len * d_model  # weighted values
    return macs << 1
