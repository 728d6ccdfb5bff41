def attention_params(d_model, num_heads, num_kv_heads, bias=False):
    """Parameters of the q, k, v and o projections of one layer of grouped-query attention -> int.

    D = d_model / num_heads. bias: whether every one of the four has one.
    """
    # 1. The head dim, and the width of all key/value heads together, in whole numbers. -> int
    # 2. The weights of q_proj and o_proj, which have all the heads. -> int
    # 3. The weights of k_proj and v_proj, which have only the key/value heads. -> int
    # 4. With bias, one number more for every output of each of the four. -> int
    # 5. Add up. -> int
    raise NotImplementedError


def kv_cache_bytes(batch, seq_len, num_layers, num_kv_heads, head_dim, bytes_per_element=2):
    """Bytes of the keys and values of all layers, for seq_len tokens of every sequence of the batch -> int."""
    # 1. What one token leaves in one layer: a key and a value in every key/value head. -> int
    # 2. The same for all tokens, sequences and layers, in bytes. -> int
    raise NotImplementedError


def mla_cache_bytes(batch, seq_len, num_layers, kv_rank, rope_dim, bytes_per_element=2):
    """The same for multi-head latent attention, which keeps a latent of kv_rank and one shared rotary key of rope_dim a token -> int."""
    # 1. What one token leaves in one layer: both things once, however many heads there are. -> int
    # 2. The same for all tokens, sequences and layers, in bytes. -> int
    raise NotImplementedError


def attention_flops(batch, q_len, k_len, d_model, num_heads, num_kv_heads):
    """FLOPs of one layer for q_len new tokens that attend to k_len keys, 2 per multiply-add -> int.

    Counted: the four projections of the q_len tokens, q k^T, weights times v. Not counted: softmax, masks, biases.
    """
    # 1. The head dim, and the width of all key/value heads together, in whole numbers. -> int
    # 2. The four projections: of the new tokens only. -> int
    # 3. q k^T: every new token with every key, in every query head. -> int
    # 4. Weights times v, in every query head too, however few heads v has. -> int
    # 5. Add up, for every sequence of the batch. -> int
    raise NotImplementedError
