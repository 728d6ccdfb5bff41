# mistakes: no-rope
"""Nested functions, and exp with the maximum subtracted."""

import torch


def absorbed_mla_decode(q_nope, q_rope, c_kv, k_rope, w_uk, w_uv):
    scale = 1.0 / (q_nope.size(-1) + q_rope.size(-1)) ** 0.5

    def absorb(query):
        return (query.unsqueeze(-2) @ w_uk).squeeze(-2)

    def spread(logits):
        e = torch.exp(logits - logits.amax(dim=-1, keepdim=True))
        return e / e.sum(dim=-1, keepdim=True)

    logits = scale * torch.einsum("bhr,blr->bhl", absorb(q_nope), c_kv)  # first wrong
    return torch.einsum("bhl,blr,hvr->bhv", spread(logits), c_kv, w_uv)
