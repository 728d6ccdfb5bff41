# mistakes: last-key-dropped-for-the-sink
"""Folded heads and bmm; the sink stands in front of the keys."""

import torch


def sink_attention(q, k, v, sink_logits, mask=None):
    B, H, Lq, D = q.shape
    Lk = k.shape[2]
    fold = lambda t: t.reshape(B * H, -1, D)
    scores = torch.bmm(fold(q), fold(k).transpose(1, 2)).mul(D**-0.5).view(B, H, Lq, Lk)
    if mask is not None:
        scores = torch.where(mask, scores, torch.finfo(scores.dtype).min)
    front = sink_logits.to(q.dtype).view(1, H, 1, 1).repeat(B, 1, Lq, 1)
    p = torch.softmax(torch.cat([front, scores], 3), 3)
    kept = p.narrow(3, 0, Lk)  # first wrong
    return torch.bmm(kept.reshape(B * H, Lq, Lk), fold(v)).view(B, H, Lq, D)
