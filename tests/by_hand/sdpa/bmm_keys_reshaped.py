# mistakes: keys-reshaped
"""All leading dims folded into one for bmm, unfolded at the end."""

import torch


def scaled_dot_product_attention(q, k, v, mask=None):
    leading = q.shape[:-2]
    length_q, dim = q.shape[-2:]
    length_k, dim_v = v.shape[-2:]

    folded_q = q.reshape(-1, length_q, dim)
    folded_k = k.reshape(-1, dim, length_k)  # first wrong
    folded_v = v.reshape(-1, length_k, dim_v)

    logits = torch.bmm(folded_q, folded_k).div(dim**0.5)
    logits = logits.view(*leading, length_q, length_k)
    if mask is not None:
        logits = logits.masked_fill(mask.logical_not(), torch.finfo(logits.dtype).min)

    probs = torch.nn.functional.softmax(logits, dim=-1)
    result = torch.bmm(probs.reshape(-1, length_q, length_k), folded_v)
    return result.reshape(*leading, length_q, dim_v)
