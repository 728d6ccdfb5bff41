# mistakes: rope-averaged-over-heads, softmax-overflows
"""One rotary query for one rotary key, and a softmax in two lines."""

import math

import torch


def absorbed_mla_decode(q_nope, q_rope, c_kv, k_rope, w_uk, w_uv):
    absorbed = (q_nope.unsqueeze(3) * w_uk).sum(2)
    content = torch.einsum("bhc,blc->bhl", absorbed, c_kv)
    shared = q_rope.mean(1)
    position = torch.einsum("be,ble->bl", shared, k_rope).unsqueeze(1)  # first wrong
    logits = (content + position) / math.sqrt(q_nope.shape[-1] + q_rope.shape[-1])
    e = torch.exp(logits)  # also wrong
    mixed = torch.einsum("bhl,blc->bhc", e / e.sum(-1, keepdim=True), c_kv)
    return torch.einsum("bhc,hvc->bhv", mixed, w_uv)
