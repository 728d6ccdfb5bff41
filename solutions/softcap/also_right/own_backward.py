"""Write the backward pass by hand in an autograd.Function, and work in place in forward.

The slope of the cap is 1 - tanh², so backward needs the tanh values as well as the weights: two
tensors of the size of the scores. The gradient of a gradient is silently wrong.
"""

import torch


class Capped(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, cap, mask):
        scale = q.shape[-1] ** -0.5
        share = (q @ k.mT).mul_(scale / cap).tanh_()
        s = share * cap
        if mask is not None:
            s.masked_fill_(~mask, -torch.inf)
        p = s.sub_(s.amax(-1, keepdim=True)).exp_()
        p.div_(p.sum(-1, keepdim=True))
        ctx.save_for_backward(q, k, v, share, p)
        ctx.scale = scale
        return p @ v

    @staticmethod
    def backward(ctx, grad):
        q, k, v, share, p = ctx.saved_tensors
        dp = grad @ v.mT
        ds = p * (dp - (dp * p).sum(-1, keepdim=True))
        ds = ds * (1 - share * share) * ctx.scale
        return ds @ k, ds.mT @ q, p.mT @ grad, None, None


def softcap_attention(q, k, v, cap, mask=None):
    return Capped.apply(q, k, v, cap, mask)
