"""List the tokens of all sequences without padding, and take the softmax per sequence with scatter.

A batch of very different lengths costs no more than the sum of the lengths. The sums over the
tokens of a sequence are scattered additions, which are slower than the sums of a matrix product.
"""

import torch


def paged_attention(q, k_pages, v_pages, block_table, lengths):
    page = k_pages.size(1)
    batch = torch.arange(q.size(0), device=q.device)
    owner = batch.repeat_interleave(lengths)  # [tokens], the sequence of each token
    first = lengths.cumsum(0) - lengths
    place = torch.arange(owner.numel(), device=q.device) - first[owner]
    where = (block_table[owner, place // page], place % page)
    group = q.size(1) // k_pages.size(2)
    keys = k_pages[where].repeat_interleave(group, 1)  # [tokens, H, D]
    values = v_pages[where].repeat_interleave(group, 1)

    scores = (q[owner] * keys).sum(-1) / q.size(-1) ** 0.5  # [tokens, H]
    index = owner[:, None].expand_as(scores)
    largest = scores.new_full((q.size(0), q.size(1)), -torch.inf)
    largest = largest.scatter_reduce(0, index, scores.detach(), "amax")
    exps = (scores - largest[owner]).exp()
    totals = torch.zeros_like(largest).scatter_add(0, index, exps)
    weighted = exps.unsqueeze(-1) * values
    out = torch.zeros_like(q).index_add(0, owner, weighted)
    return out / totals.unsqueeze(-1)
