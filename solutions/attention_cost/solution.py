"""The cost of attention: parameters of a layer, bytes of its cache, FLOPs of a call.

    params = 2 M^2 + 2 M Hkv D
    cache = 2 B L N Hkv D bytes
    FLOPs = B (2 Lq params + 4 Lq Lk H D)

Lq new tokens, Lk visible keys, N layers, H query heads, Hkv key/value heads, D = M / H head dim.
Shazeer 2019, "Fast Transformer Decoding"; DeepSeek-AI 2024, "DeepSeek-V2".
"""


def attention_params(d_model, num_heads, num_kv_heads, bias=False):
    """Count the parameters of q_proj, k_proj, v_proj and o_proj of one layer."""
    # //, not /: the results are exact integers, and a float is exact only up to 2**53
    head_dim = d_model // num_heads
    kv_width = num_kv_heads * head_dim
    query_and_output = 2 * d_model * d_model
    key_and_value = 2 * d_model * kv_width
    weights = query_and_output + key_and_value
    if not bias:
        return weights
    # a bias has as many entries as the layer has outputs: M, Hkv D, Hkv D, M
    biases = 2 * d_model + 2 * kv_width
    return weights + biases


def kv_cache_bytes(batch, seq_len, num_layers, num_kv_heads, head_dim, bytes_per_element=2):
    """Count the bytes of the keys and values of all layers."""
    elements_per_token = 2 * num_kv_heads * head_dim  # one key and one value for each head
    return batch * seq_len * num_layers * elements_per_token * bytes_per_element


def mla_cache_bytes(batch, seq_len, num_layers, kv_rank, rope_dim, bytes_per_element=2):
    """Count the bytes of the latents and rotary keys of all layers."""
    # no factor 2 or H: keys and values come from one latent, and all heads share a rotary key
    elements_per_token = kv_rank + rope_dim
    return batch * seq_len * num_layers * elements_per_token * bytes_per_element


def attention_flops(batch, q_len, k_len, d_model, num_heads, num_kv_heads):
    """Count the FLOPs of one layer for q_len new tokens that see k_len keys."""
    head_dim = d_model // num_heads
    kv_width = num_kv_heads * head_dim
    # only the new tokens are projected; the older keys and values are in the cache
    projections = 2 * q_len * d_model * (2 * d_model + 2 * kv_width)
    # every query head has its own scores, even with few key/value heads
    scores = 2 * q_len * k_len * num_heads * head_dim
    weighted_values = 2 * q_len * k_len * num_heads * head_dim
    return batch * (projections + scores + weighted_values)
