"""Put the sink in front of the keys, give the mask a column of True for it, and fold the heads.

One mask hides keys and keeps the sink, so you handle sink and scores alike. The mask must be
expanded and copied to get the extra column.
"""

import torch
import torch.nn.functional as F


def sink_attention(q, k, v, sink_logits, mask=None):
    B, H, Lq, D = q.shape
    Lk = k.size(-2)
    pairs = torch.bmm(q.reshape(B * H, Lq, D), k.reshape(B * H, Lk, D).transpose(1, 2)).div(D**0.5)
    sinks = sink_logits.to(q.dtype).repeat(B).reshape(B * H, 1, 1)
    logits = torch.concat([sinks.repeat(1, Lq, 1), pairs], dim=2)
    if mask is not None:
        visible = F.pad(torch.broadcast_to(mask, (B, H, Lq, Lk)), (1, 0), value=True)
        logits = logits.masked_fill(~visible.reshape(B * H, Lq, 1 + Lk), torch.finfo(q.dtype).min)
    weights = F.log_softmax(logits, dim=2).exp().narrow(2, 1, Lk)
    return torch.bmm(weights, v.reshape(B * H, Lk, D)).unflatten(0, (B, H))
