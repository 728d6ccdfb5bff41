"""Join latents and rotary keys into one key for all heads, as kernels for this step do.

The step is then multi-query attention with a key of r + dr features, whose first r are also the
value. Joining copies the cache, but a cache that is stored joined needs no copy.
"""

import torch


def absorbed_mla_decode(q_nope, q_rope, c_kv, k_rope, w_uk, w_uv):
    r = c_kv.size(-1)
    absorbed = torch.einsum("hdr,bhd->bhr", w_uk, q_nope)
    query = torch.cat([absorbed, q_rope], dim=-1)
    key = torch.cat([c_kv, k_rope], dim=-1)
    scale = (q_nope.size(-1) + q_rope.size(-1)) ** -0.5
    p = torch.softmax(torch.bmm(query, key.mT) * scale, dim=2)
    latent = torch.bmm(p, key)[..., :r]
    return torch.einsum("bhr,hvr->bhv", latent, w_uv)
