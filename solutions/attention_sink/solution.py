"""Attention with a sink: each head has one learned logit in the denominator, without a value.

    out_i = sum_j exp(s_ij) v_j / (exp(sink_h) + sum_j exp(s_ij))    s = q k^T / sqrt(D)

A head that finds nothing useful can give its weight to the sink, and its output is then near 0.
Without a sink, heads use the first token for this. OpenAI 2025, gpt-oss; Xiao et al. 2023,
"Efficient Streaming Language Models with Attention Sinks".
"""

import math

import torch


def sink_attention(q, k, v, sink_logits, mask=None):
    """Return attention [B, H, Lq, D] of q [B, H, Lq, D] to k and v, each [B, H, Lk, D].

    sink_logits [H], mask bool broadcastable to [B, H, Lq, Lk], True = may attend.
    """
    num_heads, head_dim = q.shape[1], q.shape[-1]
    if sink_logits.shape != (num_heads,):
        shape = list(sink_logits.shape)
        raise ValueError(f"q has {num_heads} heads, but sink_logits has the shape {shape}")
    if v.shape[-2] != k.shape[-2]:
        raise ValueError(f"there are {k.shape[-2]} keys, but {v.shape[-2]} values")

    scores = q @ k.transpose(-2, -1)  # [B, H, Lq, Lk]
    scores = scores / math.sqrt(head_dim)
    if mask is not None:
        # a row may be all -inf here: its largest logit will be the sink, which is finite
        scores = scores.masked_fill(~mask, float("-inf"))

    # a learned logit, not a dot product: no scale
    sink = sink_logits.to(scores.dtype)[:, None, None]  # [H, 1, 1]
    sink = sink.expand(*scores.shape[:-1], 1)  # [B, H, Lq, 1]
    logits = torch.cat((scores, sink), dim=-1)  # [B, H, Lq, Lk + 1]
    probs = torch.softmax(logits, dim=-1)
    # the sink has no value; the other weights sum to less than 1
    weights = probs[..., :-1]  # [B, H, Lq, Lk]
    return weights @ v  # [B, H, Lq, D]
