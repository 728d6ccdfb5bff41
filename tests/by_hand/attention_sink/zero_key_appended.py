# mistakes: sink-always-zero
"""A key and a value of zeros are appended, and nothing else is done for the sink."""

import torch
import torch.nn.functional as F


def sink_attention(q, k, v, sink_logits, mask=None):
    longer_k = F.pad(k, (0, 0, 0, 1))
    longer_v = F.pad(v, (0, 0, 0, 1))
    logits = torch.matmul(q, longer_k.transpose(2, 3)) * q.shape[-1] ** -0.5  # first wrong
    if mask is not None:
        wide = mask.expand(*logits.shape[:-1], k.shape[2])
        logits = logits.masked_fill(~F.pad(wide, (0, 1), value=True), -torch.inf)
    return logits.softmax(-1) @ longer_v
