"""Write the softmax by hand, and divide by the sum of a row only after the product with v.

The late division touches L * D numbers instead of L * L; FlashAttention does the same. The separate
steps before it make more tensors of the size of the scores than torch.softmax.
"""

import torch


def alibi_slopes(num_heads):
    n = 2 ** int(torch.tensor(float(num_heads)).log2().floor())
    all_of_n = torch.pow(2.0, -8.0 / n * torch.arange(1, n + 1))
    odd = torch.pow(2.0, -4.0 / n * torch.arange(1, 2 * n, 2))
    return torch.cat([all_of_n, odd])[:num_heads]


def alibi_attention(q, k, v):
    L, D = q.shape[-2:]
    t = torch.arange(L, device=q.device)
    gap = t[:, None] - t
    m = alibi_slopes(q.shape[1]).to(q.device)[:, None, None]
    logits = (q @ k.transpose(-2, -1)) / D**0.5
    logits = logits.masked_fill(gap < 0, -torch.inf)
    logits = logits - m * gap
    e = torch.exp(logits - logits.detach().amax(-1, keepdim=True)).to(v.dtype)
    return (e @ v) / e.sum(-1, keepdim=True)
