# mistakes: scale-precedence, mask-of-the-first-query
"""Scores made keys first and turned around, the divisor under a name of its own, softmax in float32."""

import torch


def softmax_fp32(t, dim):
    return torch.softmax(t, dim=dim, dtype=torch.promote_types(t.dtype, torch.float32)).type_as(t)


def scaled_dot_product_attention(q, k, v, mask=None):
    divisor = k.shape[-1] ** 1 / 2  # first wrong
    scores = (k @ q.transpose(-1, -2)).transpose(-1, -2) / divisor
    if mask is not None:
        visible = mask[..., 0, :].unsqueeze(-2)  # also wrong
        scores = torch.where(visible, scores, scores.new_tensor(float("-inf")))
    return softmax_fp32(scores, -1).matmul(v)
