"""One decode step on a paged KV cache: the block table of a sequence names its pages, in order.

    k_t = k_pages[block_table[t // page], t % page]    t = 0 .. length - 1
    out_h = softmax(q_h K_g^T / sqrt(D)) V_g    with g = h // (H / Hkv)

Every length is at least 1, because the token that is decoded is in the cache already.
Kwon et al. 2023, "Efficient Memory Management for Large Language Model Serving with
PagedAttention".
"""

import math

import torch


def paged_attention(q, k_pages, v_pages, block_table, lengths):
    """Return attention [B, H, D] of q [B, H, D] to pages [P, page, Hkv, D] of keys and values.

    block_table int64 [B, max_blocks], -1 where unused; lengths int64 [B].
    """
    num_heads, head_dim = q.shape[-2:]
    num_kv_heads = k_pages.shape[2]
    if num_heads % num_kv_heads != 0:
        raise ValueError(f"{num_heads} heads are not divisible by {num_kv_heads} key/value heads")
    if len(block_table) != len(q) or len(lengths) != len(q):
        sizes = [len(q), len(block_table), len(lengths)]
        raise ValueError(f"q, block_table and lengths differ in the batch: {sizes}")

    # -1 would read the last page; any page will do, because its slots are not used
    table = block_table.clamp(min=0)  # [B, max_blocks]
    keys = k_pages[table]  # [B, max_blocks, page, Hkv, D]
    keys = keys.flatten(1, 2)  # [B, slots, Hkv, D], slot t of a sequence is its token t
    values = v_pages[table]
    values = values.flatten(1, 2)

    slot = torch.arange(keys.shape[1], device=q.device)  # [slots]
    used = slot < lengths[:, None]  # [B, slots]
    # a weight of 0 is not enough, because 0 * NaN is NaN
    unused = ~used[:, :, None, None]
    keys = keys.masked_fill(unused, 0.0)
    values = values.masked_fill(unused, 0.0)

    group_size = num_heads // num_kv_heads
    keys = keys.repeat_interleave(group_size, dim=2)  # [B, slots, H, D]
    values = values.repeat_interleave(group_size, dim=2)
    scores = torch.einsum("bhd,bshd->bhs", q, keys)  # [B, H, slots]
    scores = scores / math.sqrt(head_dim)
    scores = scores.masked_fill(~used[:, None, :], float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return torch.einsum("bhs,bshd->bhd", weights, values)  # [B, H, D]
