"""Make every number of the collected pages finite, and let a mask of -inf do the rest.

nan_to_num needs no mask for the values: a weight of exactly 0 times a finite number is 0. It
touches all numbers, and it hides a NaN that a real token has by mistake.
"""

import torch


def paged_attention(q, k_pages, v_pages, block_table, lengths):
    table = torch.where(block_table < 0, 0, block_table)
    slots = torch.arange(table.size(1) * k_pages.size(1), device=q.device)
    past_the_end = slots.ge(lengths.unsqueeze(-1))
    group = q.size(1) // k_pages.size(2)

    def heads_first(pages):
        joined = torch.cat(pages[table].unbind(dim=1), dim=1)  # [B, slots, Hkv, D]
        finite = torch.nan_to_num(joined, nan=0.0, posinf=0.0, neginf=0.0)
        return torch.repeat_interleave(finite.transpose(1, 2), group, dim=1)

    attn = torch.matmul(q[:, :, None], heads_first(k_pages).transpose(-1, -2)) * q.size(-1) ** -0.5
    attn = attn.masked_fill(past_the_end[:, None, None], float("-inf"))
    attn = torch.nn.functional.softmax(attn, dim=-1, dtype=torch.float32).type_as(q)
    return torch.matmul(attn, heads_first(v_pages)).squeeze(2)
