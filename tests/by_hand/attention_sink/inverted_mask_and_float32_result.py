# mistakes: mask-inverted, output-in-float32
"""Everything in float32, and the result stays there."""

import torch


def sink_attention(q, k, v, sink_logits, mask=None):
    q, k, v, sinks = (t.float() for t in (q, k, v, sink_logits))
    z = torch.matmul(q, k.transpose(2, 3)) / q.shape[3] ** 0.5
    if mask is not None:
        z = z.masked_fill(mask, -torch.inf)  # first wrong
    z = torch.cat([z, sinks[None, :, None, None].expand(z.shape[0], -1, z.shape[2], 1)], dim=3)
    return torch.matmul(torch.softmax(z, dim=3)[:, :, :, :-1], v)  # also wrong
