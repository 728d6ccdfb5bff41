"""Write the backward pass by hand: p * (g - sum(p * g)).

Only the probabilities are saved, so autograd keeps about half as much memory as in the reference.
The gradient of a gradient is silently wrong, because backward treats the saved tensor as a
constant.
"""

import torch


class Softmax(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, dim):
        e = (x - x.amax(dim, keepdim=True).clamp(min=torch.finfo(x.dtype).min)).exp_()
        total = e.sum(dim, keepdim=True)
        p = e.div_(total.masked_fill_(total == 0, 1.0))
        ctx.save_for_backward(p)
        ctx.dim = dim
        return p

    @staticmethod
    def backward(ctx, grad):
        (p,) = ctx.saved_tensors
        return p * (grad - (p * grad).sum(ctx.dim, keepdim=True)), None


def softmax(x, dim=-1):
    return Softmax.apply(x, dim)
