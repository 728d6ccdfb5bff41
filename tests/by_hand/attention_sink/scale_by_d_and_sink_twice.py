# mistakes: scale-by-head-dim, sink-counted-twice
"""Two halves of the keys, each with the sink, merged by their sums."""

import torch


def sink_attention(q, k, v, sink_logits, mask=None):
    s = (q / q.size(-1)) @ k.mT  # first wrong
    if mask is not None:
        s = torch.where(mask, s, s.new_tensor(-1e9))
    drain = sink_logits.to(s.dtype).reshape(-1, 1, 1)
    top = torch.maximum(s.amax(-1, keepdim=True), drain).detach()
    middle = s.shape[-1] // 2
    total, result = 0, 0
    for part in (slice(0, middle), slice(middle, None)):
        e = torch.exp(s[..., part] - top)
        total = total + e.sum(-1, keepdim=True) + torch.exp(drain - top)  # also wrong
        result = result + e @ v[..., part, :]
    return result / total
