def attention_params(d_model, num_heads, num_kv_heads, bias=False):
    """Parameters of the q, k, v and o projections of one layer of grouped-query attention -> int.

    D = d_model / num_heads. bias: whether every one of the four has one.
    """
    raise NotImplementedError


def kv_cache_bytes(batch, seq_len, num_layers, num_kv_heads, head_dim, bytes_per_element=2):
    """Bytes of the keys and values of all layers, for seq_len tokens of every sequence of the batch -> int."""
    raise NotImplementedError


def mla_cache_bytes(batch, seq_len, num_layers, kv_rank, rope_dim, bytes_per_element=2):
    """The same for multi-head latent attention, which keeps a latent of kv_rank and one shared rotary key of rope_dim a token -> int."""
    raise NotImplementedError


def attention_flops(batch, q_len, k_len, d_model, num_heads, num_kv_heads):
    """FLOPs of one layer for q_len new tokens that attend to k_len keys, 2 per multiply-add -> int.

    Counted: the four projections of the q_len tokens, q k^T, weights times v. Not counted: softmax, masks, biases.
    """
    raise NotImplementedError
