"""Multi-head self-attention, forwards and backwards, by hand: results and all gradients.

    y = a w^T gives da = dy w and dw = dy^T a, summed over all tokens
    heads = P v    P = softmax(s q k^T + mask)    s = 1 / sqrt(D)
    dv = P^T dheads    dP = dheads v^T    dS = P * (dP - rowsum(P * dP))
    dq = s dS k    dk = s dS^T q

x is used three times, so dx is a sum of three parts. Vaswani et al. 2017, "Attention Is All You
Need", section 3.2.2; the gradients by the chain rule.
"""

import math

import torch


def split_heads(features, num_heads):
    """Return [B, H, L, D] for [B, L, M]. Head h owns the features h * D to (h + 1) * D - 1."""
    batch, length, d_model = features.shape
    heads = features.reshape(batch, length, num_heads, d_model // num_heads)
    return heads.transpose(1, 2)


def merge_heads(heads):
    """Return [B, L, M] for [B, H, L, D]: the inverse of split_heads, and its backward pass."""
    batch, num_heads, length, head_dim = heads.shape
    tokens = heads.transpose(1, 2)  # [B, L, H, D]
    return tokens.reshape(batch, length, num_heads * head_dim)


def weight_gradient(grad, inputs):
    """Return dw [M, M] of a layer y = inputs @ w.T from the gradient of y, both [B, L, M]."""
    rows, columns = grad.flatten(0, 1), inputs.flatten(0, 1)  # [B * L, M]
    return rows.T @ columns


def mha_forward_backward(x, w_q, w_k, w_v, w_o, num_heads, mask, grad_out):
    """Return out, dx [B, L, M], dw_q, dw_k, dw_v and dw_o [M, M].

    x and grad_out [B, L, M]; the weights are [M, M], as nn.Linear keeps them: y = x @ w.T;
    mask bool broadcastable to [B, H, L, L], True = may attend, or None.
    """
    d_model = x.shape[-1]
    if d_model % num_heads != 0:
        raise ValueError(f"M = {d_model} is not divisible by num_heads = {num_heads}")
    if grad_out.shape != x.shape:
        raise ValueError(f"out is {list(x.shape)}, but grad_out is {list(grad_out.shape)}")
    scale = 1 / math.sqrt(d_model // num_heads)

    # forwards
    q = split_heads(x @ w_q.T, num_heads)  # [B, H, L, D]
    k = split_heads(x @ w_k.T, num_heads)
    v = split_heads(x @ w_v.T, num_heads)
    scores = q @ k.transpose(-2, -1)  # [B, H, L, L]
    scores = scores * scale
    if mask is not None:
        scores = scores.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(scores, dim=-1)  # [B, H, L, L]
    heads = weights @ v  # [B, H, L, D]
    merged = merge_heads(heads)  # [B, L, M]
    out = merged @ w_o.T  # [B, L, M]

    # backwards through the output projection
    grad_w_o = weight_gradient(grad_out, merged)  # [M, M]
    grad_merged = grad_out @ w_o  # [B, L, M]
    grad_heads = split_heads(grad_merged, num_heads)  # [B, H, L, D]
    # backwards through the attention of every head
    grad_v = weights.transpose(-2, -1) @ grad_heads  # [B, H, L, D]
    grad_weights = grad_heads @ v.transpose(-2, -1)  # [B, H, L, L]
    mean = (weights * grad_weights).sum(dim=-1, keepdim=True)  # [B, H, L, 1]
    grad_scores = weights * (grad_weights - mean)  # [B, H, L, L], 0 where masked
    grad_products = grad_scores * scale
    grad_q = grad_products @ k  # [B, H, L, D]
    grad_k = grad_products.transpose(-2, -1) @ q  # [B, H, L, D]
    # backwards through the three input projections
    grad_q, grad_k, grad_v = merge_heads(grad_q), merge_heads(grad_k), merge_heads(grad_v)
    grad_w_q = weight_gradient(grad_q, x)  # [M, M]
    grad_w_k = weight_gradient(grad_k, x)
    grad_w_v = weight_gradient(grad_v, x)
    # x goes into all three projections, so their parts are added
    grad_x = grad_q @ w_q + grad_k @ w_k + grad_v @ w_v  # [B, L, M]
    return out, grad_x, grad_w_q, grad_w_k, grad_w_v, grad_w_o
