def attention_params(d_model, num_heads, num_kv_heads, bias=False):
    """Count the parameters of the q, k, v and o projections of one layer -> int.

    The layer is grouped-query attention with D = d_model / num_heads.
    bias: True if each of the four projections has a bias.
    """
    # 1. Compute the head dim, and the width of all key/value heads, with integers. -> int
    # 2. Count the weights of q_proj and o_proj, which have all heads. -> int
    # 3. Count the weights of k_proj and v_proj, which have only the key/value heads. -> int
    # 4. With bias, count one more parameter for every output of the four. -> int
    # 5. Add these counts. -> int
    raise NotImplementedError


def kv_cache_bytes(batch, seq_len, num_layers, num_kv_heads, head_dim, bytes_per_element=2):
    """Count the bytes of the cached keys and values of all layers -> int.

    Every sequence of the batch has seq_len tokens.
    """
    # 1. Count the entries of one token in one layer: a key and a value for every
    #    key/value head. -> int
    # 2. Multiply by tokens, sequences, layers and bytes. -> int
    raise NotImplementedError


def mla_cache_bytes(batch, seq_len, num_layers, kv_rank, rope_dim, bytes_per_element=2):
    """Count the bytes of the cache of multi-head latent attention -> int.

    For each token it keeps a latent of kv_rank entries and one rotary key of rope_dim entries,
    which all heads share.
    """
    # 1. Count the entries of one token in one layer; the number of heads does not matter. -> int
    # 2. Multiply by tokens, sequences, layers and bytes. -> int
    raise NotImplementedError


def attention_flops(batch, q_len, k_len, d_model, num_heads, num_kv_heads):
    """Count the FLOPs of one layer for q_len new tokens that attend to k_len keys -> int.

    A multiply-add is 2 FLOPs.
    Counted: the four projections of the q_len tokens, q k^T, weights times v.
    Not counted: softmax, masks, biases.
    """
    # 1. Compute the head dim, and the width of all key/value heads, with integers. -> int
    # 2. Count the four projections, of the new tokens only. -> int
    # 3. Count q k^T: every new token with every key, in every query head. -> int
    # 4. Count weights times v, also in every query head, even if v has fewer heads. -> int
    # 5. Add these counts for every sequence of the batch. -> int
    raise NotImplementedError
