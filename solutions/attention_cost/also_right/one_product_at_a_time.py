"""List the shape of every matrix product and every cached tensor, then multiply and add up.

The lists cost a few more Python operations than closed formulas, but you can easily see a forgotten
product or a missing factor.
"""

from math import prod


def _projections(d_model, num_heads, num_kv_heads):
    head_dim = d_model // num_heads
    widths = {"q": d_model, "k": num_kv_heads * head_dim, "v": num_kv_heads * head_dim, "o": d_model}
    return [(d_model, width) for width in widths.values()]


def attention_params(d_model, num_heads, num_kv_heads, bias=False):
    return sum(rows * columns + (columns if bias else 0) for rows, columns in _projections(d_model, num_heads, num_kv_heads))


def kv_cache_bytes(batch, seq_len, num_layers, num_kv_heads, head_dim, bytes_per_element=2):
    shape = (num_layers, 2, batch, num_kv_heads, seq_len, head_dim)
    return prod(shape) * bytes_per_element


def mla_cache_bytes(batch, seq_len, num_layers, kv_rank, rope_dim, bytes_per_element=2):
    latent, rotary = (num_layers, batch, seq_len, kv_rank), (num_layers, batch, seq_len, rope_dim)
    return bytes_per_element * (prod(latent) + prod(rotary))


def attention_flops(batch, q_len, k_len, d_model, num_heads, num_kv_heads):
    head_dim = d_model // num_heads
    products = [(batch * q_len, rows, columns) for rows, columns in _projections(d_model, num_heads, num_kv_heads)]
    products += [(batch * num_heads * q_len, head_dim, k_len), (batch * num_heads * q_len, k_len, head_dim)]
    return sum(2 * prod(sizes) for sizes in products)
