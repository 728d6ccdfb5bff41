"""Write the backward pass by hand: p * (g - sum(p * g)), split among the blocks.

The forward loop records nothing, so only the probabilities stay in memory. The gradient of a
gradient is silently wrong, because backward treats the saved tensor as a constant.
"""

import torch


class Online(torch.autograd.Function):
    @staticmethod
    def forward(ctx, *blocks):
        dtype = blocks[0].dtype
        blocks = [block.to(torch.promote_types(dtype, torch.float32)) for block in blocks]
        m = blocks[0].new_full((*blocks[0].shape[:-1], 1), torch.finfo(blocks[0].dtype).min)
        s = torch.zeros_like(m)
        for block in blocks:
            old, m = m, torch.max(m, block.amax(-1, keepdim=True))
            s = s * (old - m).exp_() + (block - m).exp_().sum(-1, keepdim=True)
        p = torch.cat([(block - m).exp_() for block in blocks], -1).div_(s.clamp_(min=1))
        ctx.save_for_backward(p)
        ctx.widths = [block.shape[-1] for block in blocks]
        return p.to(dtype)

    @staticmethod
    def backward(ctx, grad):
        (p,) = ctx.saved_tensors
        dx = p * (grad - (p * grad).sum(-1, keepdim=True))
        return dx.to(grad.dtype).split(ctx.widths, -1)


def online_softmax(blocks):
    return Online.apply(*blocks)
