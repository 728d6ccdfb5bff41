# mistakes: float-head-dim
"""Factored formulas: squares and narrow rectangles, everything that comes twice taken out."""

from typing import Final

KEYS_AND_VALUES: Final = 2
MULTIPLY_AND_ADD: Final = 2


def attention_params(d_model: int, num_heads: int, num_kv_heads: int, bias: bool = False) -> int:
    per_head = d_model / num_heads  # first wrong
    kv = per_head * num_kv_heads
    square, rectangle = d_model**2, d_model * kv
    count = 2 * (square + rectangle)
    return count + 2 * (d_model + kv) if bias else count


def _bytes(token_entries: int, tokens: int, num_layers: int, size: int) -> int:
    return token_entries * tokens * num_layers * size


def kv_cache_bytes(batch: int, seq_len: int, num_layers: int, num_kv_heads: int, head_dim: int, bytes_per_element: int = 2) -> int:
    return _bytes(KEYS_AND_VALUES * num_kv_heads * head_dim, batch * seq_len, num_layers, bytes_per_element)


def mla_cache_bytes(batch: int, seq_len: int, num_layers: int, kv_rank: int, rope_dim: int, bytes_per_element: int = 2) -> int:
    return _bytes(kv_rank + rope_dim, batch * seq_len, num_layers, bytes_per_element)


def attention_flops(batch: int, q_len: int, k_len: int, d_model: int, num_heads: int, num_kv_heads: int) -> int:
    kv = d_model * num_kv_heads // num_heads
    return MULTIPLY_AND_ADD * batch * q_len * d_model * 2 * (d_model + kv + k_len)
