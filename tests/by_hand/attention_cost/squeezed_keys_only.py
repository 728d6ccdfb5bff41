# mistakes: keys-only
"""In as few lines as it goes."""


def attention_params(d_model, num_heads, num_kv_heads, bias=False): return 2 * (d_model + bool(bias)) * (d_model + d_model // num_heads * num_kv_heads)


def kv_cache_bytes(batch, seq_len, num_layers, num_kv_heads, head_dim, bytes_per_element=2): return batch * num_layers * num_kv_heads * seq_len * head_dim * bytes_per_element  # first wrong


def mla_cache_bytes(batch, seq_len, num_layers, kv_rank, rope_dim, bytes_per_element=2): return batch * num_layers * seq_len * (kv_rank + rope_dim) * bytes_per_element


def attention_flops(batch, q_len, k_len, d_model, num_heads, num_kv_heads): return 4 * batch * q_len * d_model * (d_model + d_model // num_heads * num_kv_heads + k_len)
