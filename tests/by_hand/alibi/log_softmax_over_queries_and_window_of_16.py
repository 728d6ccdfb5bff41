# mistakes: bias-of-clamped-distance, softmax-over-queries
"""log_softmax and exp; the distance ends at a window of 16."""

import torch


def alibi_slopes(num_heads):
    n = 1 << (num_heads.bit_length() - 1)
    at = torch.cat((torch.arange(1, n + 1) / n, (torch.arange(n) + 0.5) / n))
    return torch.exp2(-8 * at[:num_heads])


def alibi_attention(q, k, v):
    n = q.size(2)
    t = torch.arange(n, device=q.device)
    back = torch.minimum(t.view(n, 1) - t, torch.tensor(16))
    logits = torch.matmul(q / q.size(3) ** 0.5, k.mT)
    logits = logits - alibi_slopes(q.size(1)).view(-1, 1, 1) * back  # first wrong
    logits = logits.masked_fill(t > t.view(n, 1), float("-inf"))
    weights = torch.log_softmax(logits, dim=2).exp()  # also wrong
    return torch.matmul(weights.to(v.dtype), v)
