# mistakes: sink-normalised-away
"""Every step in a nested function."""

import torch


def sink_attention(q, k, v, sink_logits, mask=None):
    def logits():
        found = q.matmul(k.swapaxes(-1, -2)).div(q.shape[-1] ** 0.5)
        return found if mask is None else found.masked_fill(mask.logical_not(), -torch.inf)

    def with_sink(found):
        column = sink_logits.to(found.dtype).reshape(-1, 1, 1).expand_as(found[..., :1])
        return torch.concat([found, column], dim=-1)

    share = torch.nn.functional.softmax(with_sink(logits()), dim=-1)[..., : k.shape[-2]]
    share = share.div(share.sum(dim=-1, keepdim=True))  # first wrong
    return share.matmul(v)
