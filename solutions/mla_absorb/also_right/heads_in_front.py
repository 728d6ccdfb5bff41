"""Put the heads in front, so that bmm does the two products with one matrix for each head.

Each head multiplies its matrix with the queries of the whole batch in one product, which reads
every matrix once. The transposed queries and results are views, but bmm may copy them.
"""

import torch


def absorbed_mla_decode(q_nope, q_rope, c_kv, k_rope, w_uk, w_uv):
    root = (q_nope.shape[-1] + q_rope.shape[-1]) ** 0.5
    by_head = torch.bmm(q_nope.transpose(0, 1), w_uk)  # [H, B, r]
    scores = torch.baddbmm(
        torch.bmm(q_rope, k_rope.transpose(1, 2)), by_head.transpose(0, 1), c_kv.transpose(1, 2)
    )
    weights = torch.log_softmax(scores.div(root), dim=-1).exp()
    summed = torch.bmm(weights, c_kv).transpose(0, 1)  # [H, B, r]
    return torch.bmm(summed, w_uv.transpose(1, 2)).transpose(0, 1)
