"""Keep all matrices transposed, keys before queries, so that dk and dv need no transpose.

The softmax then runs over axis -2, and masks are transposed once. The work is the same, but the
usual order of axes is easier for others to read.
"""

import torch
import torch.nn.functional as F


class Attention:
    """The forward pass, with what the backward pass needs."""

    def __init__(self, q, k, v, mask):
        self.q, self.k, self.v = q, k, v
        self.scale = torch.rsqrt(torch.tensor(float(q.size(-1)))).item()
        logits = (k @ q.mT) * self.scale
        if mask is not None:
            allowed = torch.atleast_2d(mask).mT
            logits = logits.masked_fill(~allowed, -torch.inf)
        self.weights = F.softmax(logits, dim=-2)

    def backward(self, grad):
        from_values = self.v @ grad.mT
        centred = from_values - (self.weights * from_values).sum(dim=-2, keepdim=True)
        slope = self.weights * centred * self.scale
        return slope.mT @ self.k, slope @ self.q, self.weights @ grad


def attention_backward(q, k, v, grad_out, mask=None):
    return Attention(q, k, v, mask).backward(grad_out)
