"""Write the softmax by hand in float32, with one more term in the sum and no extra column.

The maximum runs over the scores and the sink, so no exponential overflows. The scores are never
copied into a wider tensor, but in bfloat16 they take twice the memory.
"""

import torch
from torch import Tensor


def sink_attention(q: Tensor, k: Tensor, v: Tensor, sink_logits: Tensor, mask: Tensor | None = None) -> Tensor:
    wide = torch.promote_types(q.dtype, torch.float32)
    scores = torch.einsum("bhid,bhjd->bhij", q, k).to(wide) * q.size(-1) ** -0.5
    if mask is not None:
        scores = torch.where(mask, scores, scores.new_full((), torch.finfo(wide).min))
    sink = sink_logits.to(wide)[None, :, None, None]
    top = torch.maximum(scores.amax(-1, keepdim=True), sink).detach()
    numerators = torch.exp(scores - top)
    total = numerators.sum(-1, keepdim=True) + torch.exp(sink - top)
    return torch.einsum("bhij,bhjd->bhid", (numerators / total).to(v.dtype), v)
