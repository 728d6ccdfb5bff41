"""Add up the cost in loops over heads and layers instead of using closed formulas.

The number of additions grows with the number of heads and layers, but you can see which head each
term belongs to. An assert refuses sizes that do not divide.
"""


def _heads(d_model, num_heads, num_kv_heads):
    assert num_heads % num_kv_heads == 0, f"{num_heads} % {num_kv_heads}"
    head_dim, rest = divmod(d_model, num_heads)
    assert rest == 0, f"{d_model} % {num_heads}"
    return head_dim, num_heads // num_kv_heads


def attention_params(d_model, num_heads, num_kv_heads, bias=False):
    head_dim, _ = _heads(d_model, num_heads, num_kv_heads)
    total = d_model if bias else 0  # of the output projection
    for _query_head in range(num_heads):
        total += d_model * head_dim  # its columns of q_proj
        total += head_dim * d_model  # its rows of o_proj
        total += head_dim if bias else 0
    for _kv_head in range(num_kv_heads):
        total += 2 * (d_model + (1 if bias else 0)) * head_dim
    return total


def kv_cache_bytes(batch, seq_len, num_layers, num_kv_heads, head_dim, bytes_per_element=2):
    vector = head_dim * bytes_per_element
    total = 0
    for _layer in range(num_layers):
        for _kv_head in range(num_kv_heads):
            keys = values = batch * seq_len * vector
            total += keys + values
    return total


def mla_cache_bytes(batch, seq_len, num_layers, kv_rank, rope_dim, bytes_per_element=2):
    total = 0
    for width in (kv_rank, rope_dim):
        total += width * bytes_per_element * batch * seq_len * num_layers
    return total


def attention_flops(batch, q_len, k_len, d_model, num_heads, num_kv_heads):
    head_dim, group_size = _heads(d_model, num_heads, num_kv_heads)
    of_one_sequence = 0
    for _kv_head in range(num_kv_heads):
        of_one_sequence += 2 * 2 * q_len * d_model * head_dim  # k_proj, v_proj
        for _query_head in range(group_size):
            of_one_sequence += 2 * 2 * q_len * d_model * head_dim  # q_proj, o_proj
            of_one_sequence += 2 * 2 * q_len * head_dim * k_len  # scores, weighted values
    return batch * of_one_sequence
