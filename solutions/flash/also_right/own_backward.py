"""Write the backward pass in blocks too, as an autograd.Function.

For training, it keeps the output and two numbers per query instead of the weights of every block,
so its memory is linear. The price is a second product of queries and keys, and wrong second
derivatives.
"""

import torch


def scores_of(q, k, start, stop, scale, causal):
    s = q @ k[:, :, start:stop].mT * scale
    if causal:
        ahead = k.shape[2] - q.shape[2]
        hidden = torch.ones(q.shape[2], stop - start, dtype=torch.bool).triu(1 + ahead - start)
        s.masked_fill_(hidden, -torch.inf)
    return s


class Flash(torch.autograd.Function):
    @staticmethod
    def forward(ctx, q, k, v, causal, block_size):
        dtype, scale = q.dtype, q.shape[-1] ** -0.5
        q, k, v = (x.to(torch.promote_types(dtype, torch.float32)) for x in (q, k, v))
        edges = [(i, min(i + block_size, k.shape[2])) for i in range(0, k.shape[2], block_size)]
        out = torch.zeros(q.shape, dtype=q.dtype)
        total = q.new_zeros(*q.shape[:3], 1)
        top = q.new_full((*q.shape[:3], 1), -torch.inf)
        for start, stop in edges:
            s = scores_of(q, k, start, stop, scale, causal)
            higher = torch.max(top, s.amax(-1, keepdim=True))
            s.sub_(higher).exp_()
            old = top.sub_(higher).exp_()
            total.mul_(old).add_(s.sum(-1, keepdim=True))
            out.mul_(old).add_(s @ v[:, :, start:stop])
            top = higher
        out.div_(total)
        ctx.save_for_backward(q, k, v, out, top, total)
        ctx.edges, ctx.scale, ctx.causal = edges, scale, causal
        return out.to(dtype)

    @staticmethod
    def backward(ctx, grad):
        q, k, v, out, top, total = ctx.saved_tensors
        dtype, grad = grad.dtype, grad.to(q.dtype)
        dq, dk, dv = torch.zeros_like(q), torch.zeros(k.shape, dtype=k.dtype), torch.zeros(v.shape, dtype=v.dtype)
        delta = (grad * out).sum(-1, keepdim=True)
        for start, stop in ctx.edges:
            p = (scores_of(q, k, start, stop, ctx.scale, ctx.causal) - top).exp() / total
            dv[:, :, start:stop] = p.mT @ grad
            ds = p * (grad @ v[:, :, start:stop].mT - delta) * ctx.scale
            dq += ds @ k[:, :, start:stop]
            dk[:, :, start:stop] = ds.mT @ q
        return dq.to(dtype), dk.to(dtype), dv.to(dtype), None, None


def flash_attention(q, k, v, causal=False, block_size=64):
    return Flash.apply(q, k, v, causal, block_size)
