"""Write the backward pass by hand in an autograd.Function, and work in place in forward.

The gradient of a sink is the sum of -p_sink * (dO · O) over all its rows, so the probability of the
sink must be kept. Second derivatives are silently wrong, because backward treats the saved weights
as constants.
"""

import torch


class WithSink(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, sinks, mask):
        scale = q.shape[-1] ** -0.5
        s = torch.matmul(q, k.mT).mul_(scale)
        if mask is not None:
            s.masked_fill_(~mask, -torch.inf)
        column = sinks.to(s.dtype)[:, None, None]
        top = torch.maximum(s.amax(-1, keepdim=True), column)
        p = s.sub_(top).exp_()
        of_sink = (column - top).exp()
        total = p.sum(-1, keepdim=True) + of_sink
        p /= total
        of_sink = of_sink / total
        out = p @ v
        ctx.save_for_backward(q, k, v, p, of_sink, out)
        ctx.scale, ctx.sink_dtype = scale, sinks.dtype
        return out

    @staticmethod
    def backward(ctx, grad):
        q, k, v, p, of_sink, out = ctx.saved_tensors
        share = (grad * out).sum(-1, keepdim=True)
        ds = p * (grad @ v.mT - share) * ctx.scale
        dsinks = -(of_sink * share).sum(dim=(0, 2, 3))
        return ds @ k, ds.mT @ q, p.mT @ grad, dsinks.to(ctx.sink_dtype), None


def sink_attention(q, k, v, sink_logits, mask=None):
    return WithSink.apply(q, k, v, sink_logits, mask)
