# mistakes: scores-of-kv-heads
# diagnosis: line elsewhere
"""Group by group: a key/value head, and the query heads that share it; generators inside sum."""


def groups(num_heads, num_kv_heads):
    """One list of query heads for each key/value head."""
    size, rest = divmod(num_heads, num_kv_heads)
    assert not rest
    return [range(first, first + size) for first in range(0, num_heads, size)]


def attention_params(d_model, num_heads, num_kv_heads, bias=False):
    width = d_model // num_heads
    into_head = (d_model + bias) * width  # columns of q_proj, k_proj or v_proj
    out_of_head = width * d_model  # rows of o_proj
    of_groups = sum(2 * into_head + sum(into_head + out_of_head for _ in heads) for heads in groups(num_heads, num_kv_heads))
    return of_groups + d_model * bias


def kv_cache_bytes(batch, seq_len, num_layers, num_kv_heads, head_dim, bytes_per_element=2):
    vectors = sum(2 for _ in range(num_kv_heads))
    return vectors * (head_dim * bytes_per_element) * (batch * seq_len) * num_layers


def mla_cache_bytes(batch, seq_len, num_layers, kv_rank, rope_dim, bytes_per_element=2):
    return sum(part * bytes_per_element * batch * seq_len * num_layers for part in (kv_rank, rope_dim))


def attention_flops(batch, q_len, k_len, d_model, num_heads, num_kv_heads):
    width = d_model // num_heads
    project = 2 * q_len * d_model * width
    compare = mix = 2 * q_len * k_len * width

    def of_group(heads):
        count = 2 * project + compare  # first wrong
        for _ in heads:
            count += 2 * project + mix
        return count

    return batch * sum(map(of_group, groups(num_heads, num_kv_heads)))
