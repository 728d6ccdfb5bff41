"""The backward pass of attention, by hand: from the gradient of the result to dq, dk and dv.

    P = softmax(s q k^T + mask)    out = P v    s = 1 / sqrt(D)    dO = grad_out
    dv = P^T dO    dP = dO v^T    dS = P * (dP - rowsum(P * dP))    dq = s dS k    dk = s dS^T q

P is computed again, because the caller keeps q, k and v only. Dao et al. 2022, "FlashAttention:
Fast and Memory-Efficient Exact Attention with IO-Awareness", appendix B.2.
"""

import math

import torch


def attention_backward(q, k, v, grad_out, mask=None):
    """Return dq, dk and dv, in the shapes of q [B, H, Lq, D], k [B, H, Lk, D], v [B, H, Lk, Dv].

    grad_out [B, H, Lq, Dv]; mask bool broadcastable to [B, H, Lq, Lk], True = may attend.
    """
    head_dim = q.shape[-1]
    if k.shape[-1] != head_dim:
        raise ValueError(f"q has head dim {head_dim}, k has head dim {k.shape[-1]}")
    if v.shape[-2] != k.shape[-2]:
        raise ValueError(f"there are {k.shape[-2]} keys, but {v.shape[-2]} values")
    out_shape = (*q.shape[:-1], v.shape[-1])
    if grad_out.shape != out_shape:
        raise ValueError(f"out is {list(out_shape)}, but grad_out is {list(grad_out.shape)}")

    # the forward pass again, up to the weights
    scale = 1 / math.sqrt(head_dim)
    scores = q @ k.transpose(-2, -1)  # [B, H, Lq, Lk]
    scores = scores * scale
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1)  # [B, H, Lq, Lk]

    # out = weights @ v: a factor's gradient is grad_out times the other factor, transposed
    grad_v = weights.transpose(-2, -1) @ grad_out  # [B, H, Lk, Dv]
    grad_weights = grad_out @ v.transpose(-2, -1)  # [B, H, Lq, Lk]
    # a higher score takes weight from all keys of its row, so the row's mean is subtracted
    weighted = weights * grad_weights  # [B, H, Lq, Lk]
    mean = weighted.sum(dim=-1, keepdim=True)  # [B, H, Lq, 1], the weights sum to 1
    grad_scores = weights * (grad_weights - mean)  # [B, H, Lq, Lk], 0 where masked
    # scores = scale * q k^T: the scale comes back in both gradients
    grad_products = grad_scores * scale  # [B, H, Lq, Lk]
    grad_q = grad_products @ k  # [B, H, Lq, D]
    grad_k = grad_products.transpose(-2, -1) @ q  # [B, H, Lk, D]
    return grad_q, grad_k, grad_v
