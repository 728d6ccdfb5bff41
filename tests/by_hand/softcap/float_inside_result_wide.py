# mistakes: output-in-float32
"""float32 from the first line on, and no way back."""

import torch


def softcap_attention(q, k, v, cap, mask=None):
    q, k, v = q.float(), k.float(), v.float()
    z = torch.matmul(q, k.permute(0, 1, 3, 2)) / q.shape[-1] ** 0.5
    z = torch.tanh(z / cap).mul(cap)
    if mask is not None:
        z = z.masked_fill(~mask, -torch.inf)
    w = torch.exp(z - torch.logsumexp(z, dim=-1, keepdim=True))
    return torch.matmul(w, v)  # first wrong
