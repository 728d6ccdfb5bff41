# mistakes: no-output-projection, latent-twice
"""math.prod over shapes; the latent cache is a call of the other cache with a head of its own width."""

from math import prod


def attention_params(d_model, num_heads, num_kv_heads, bias=False):
    kv_dim = d_model // num_heads * num_kv_heads
    shapes = [(d_model, d_model), (d_model, kv_dim), (d_model, kv_dim)]  # first wrong
    if bias:
        shapes += [(d_model,), (kv_dim,), (kv_dim,), (d_model,)]
    return sum(prod(shape) for shape in shapes)


def kv_cache_bytes(batch, seq_len, num_layers, num_kv_heads, head_dim, bytes_per_element=2):
    return prod([num_layers, 2, batch, num_kv_heads, seq_len, head_dim, bytes_per_element])


def mla_cache_bytes(batch, seq_len, num_layers, kv_rank, rope_dim, bytes_per_element=2):
    return kv_cache_bytes(batch, seq_len, num_layers, num_kv_heads=1, head_dim=kv_rank + rope_dim, bytes_per_element=bytes_per_element)  # also wrong


def attention_flops(batch, q_len, k_len, d_model, num_heads, num_kv_heads):
    head_dim = d_model // num_heads
    kv_dim = num_kv_heads * head_dim
    products = [
        (batch, q_len, d_model, d_model),
        (batch, q_len, d_model, kv_dim),
        (batch, q_len, d_model, kv_dim),
        (batch, num_heads, q_len, head_dim, k_len),
        (batch, num_heads, q_len, k_len, head_dim),
        (batch, q_len, d_model, d_model),
    ]
    return 2 * sum(map(prod, products))
