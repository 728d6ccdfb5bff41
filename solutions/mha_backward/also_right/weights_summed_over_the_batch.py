"""Make the gradient of a weight for each sequence, [B, M, M], and sum over the batch at the end.

Batched products need no reshape, so nothing depends on the memory order of the inputs. B matrices
of M * M entries are alive for a moment, far more than the result for large batches.
"""

import torch
from torch.nn import functional as F


def mha_forward_backward(x, w_q, w_k, w_v, w_o, num_heads, mask, grad_out):
    width = x.size(-1)
    head = width // num_heads
    if head * num_heads != width:
        raise ValueError(f"{width} is not a multiple of {num_heads}")

    def heads_of(t):
        return torch.stack(t.split(head, dim=-1), dim=1)

    def all_heads(t):
        return torch.cat(t.unbind(dim=1), dim=-1)

    def of_weight(dy, a):
        return (dy.transpose(1, 2) @ a).sum(dim=0)

    q, k, v = (heads_of(F.linear(x, w)) for w in (w_q, w_k, w_v))
    logits = (q @ k.transpose(-1, -2)) * head ** (-0.5)
    logits = logits if mask is None else torch.where(mask, logits, -1e9)
    p = F.softmax(logits, dim=-1)
    a = all_heads(p @ v)
    g = heads_of(grad_out @ w_o)
    jacobian = torch.diag_embed(p) - p[..., :, None] * p[..., None, :]
    dp = g @ v.transpose(-1, -2)
    ds = (jacobian @ dp[..., None])[..., 0] * head ** (-0.5)
    dq, dk, dv = ds @ k, ds.transpose(-1, -2) @ q, p.transpose(-1, -2) @ g
    dq, dk, dv = all_heads(dq), all_heads(dk), all_heads(dv)
    dx = torch.cat([dq, dk, dv], dim=-1) @ torch.cat([w_q, w_k, w_v], dim=0)
    return (
        F.linear(a, w_o), dx,
        of_weight(dq, x), of_weight(dk, x), of_weight(dv, x), of_weight(grad_out, a),
    )
