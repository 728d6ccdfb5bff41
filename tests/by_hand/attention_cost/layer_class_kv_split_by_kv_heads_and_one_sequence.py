# mistakes: kv-width-from-query-heads, flops-of-one-sequence
# diagnosis: line elsewhere
"""A layer as an object with cached numbers, a cache as another."""

from functools import cached_property


class Attention:
    def __init__(self, d_model, num_heads, num_kv_heads):
        self.d_model, self.num_heads, self.num_kv_heads = d_model, num_heads, num_kv_heads

    @cached_property
    def shared_by(self):
        """So many query heads have one key/value head."""
        return self.num_heads // self.num_kv_heads

    @cached_property
    def kv_width(self):
        return self.d_model // self.num_kv_heads  # first wrong

    def parameters(self, bias):
        out_widths = [self.d_model, self.kv_width, self.kv_width, self.d_model]
        rows = self.d_model + 1 if bias else self.d_model
        return sum(rows * width for width in out_widths)

    def projection_flops(self):
        """Of one token."""
        full = 2 * self.d_model * self.d_model
        return 2 * full + 2 * (full // self.shared_by)

    def key_flops(self):
        """Of one pair of query and key, in all heads: the score, and the value's share."""
        return 2 * self.d_model + 2 * self.d_model


class Cache:
    def __init__(self, *token_parts):
        self.per_token = sum(token_parts)

    def bytes(self, batch, seq_len, num_layers, size):
        return self.per_token * batch * seq_len * num_layers * size


def attention_params(d_model, num_heads, num_kv_heads, bias=False):
    return Attention(d_model, num_heads, num_kv_heads).parameters(bias)


def kv_cache_bytes(batch, seq_len, num_layers, num_kv_heads, head_dim, bytes_per_element=2):
    keys = values = num_kv_heads * head_dim
    return Cache(keys, values).bytes(batch, seq_len, num_layers, bytes_per_element)


def mla_cache_bytes(batch, seq_len, num_layers, kv_rank, rope_dim, bytes_per_element=2):
    return Cache(kv_rank, rope_dim).bytes(batch, seq_len, num_layers, bytes_per_element)


def attention_flops(batch, q_len, k_len, d_model, num_heads, num_kv_heads):
    layer = Attention(d_model, num_heads, num_kv_heads)
    return q_len * (layer.projection_flops() + k_len * layer.key_flops())  # also wrong
