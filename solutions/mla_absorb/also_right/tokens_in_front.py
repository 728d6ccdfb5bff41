"""Keep the latents in front: sequences times tokens as rows, heads as columns.

The scores come out as [B, L, H], the layout of a cache that is written token by token. The softmax
then runs over an axis in the middle, which is easy to forget and slower in memory.
"""

import torch
import torch.nn.functional as F


def absorbed_mla_decode(q_nope, q_rope, c_kv, k_rope, w_uk, w_uv):
    q = torch.matmul(w_uk.mT, q_nope.unsqueeze(-1)).squeeze(-1)  # [B, H, r]
    scores = torch.matmul(c_kv, q.permute(0, 2, 1)) + torch.matmul(k_rope, q_rope.permute(0, 2, 1))
    scores = scores / torch.tensor(q_nope.size(-1) + q_rope.size(-1)).sqrt()
    weights = F.softmax(scores, dim=1)  # [B, L, H]
    latent = torch.matmul(weights.permute(0, 2, 1), c_kv)
    return (latent.unsqueeze(-2) @ w_uv.mT).squeeze(-2)
