"""Write the backward pass by hand: (softmax - one-hot) / number of targets.

Only the logits and the targets are saved. The backward pass recomputes the probabilities, so they
take no memory in between, at the cost of a second softmax.
"""

import torch


class Loss(torch.autograd.Function):
    @staticmethod
    def forward(ctx, rows, targets, counts):
        x = rows.to(torch.promote_types(rows.dtype, torch.float32))
        top = x.amax(-1, keepdim=True)
        lse = (x - top).exp().sum(-1).log() + top.squeeze(-1)
        each = lse - torch.take_along_dim(x, targets[:, None], dim=1)[:, 0]
        ctx.save_for_backward(rows, targets, counts)
        return torch.dot(each, counts.to(each.dtype)) / counts.sum()

    @staticmethod
    def backward(ctx, grad):
        rows, targets, counts = ctx.saved_tensors
        p = torch.softmax(rows, dim=-1, dtype=torch.promote_types(rows.dtype, torch.float32))
        p[torch.arange(len(p)), targets] -= 1
        p *= (grad * counts / counts.sum())[:, None]
        return p.to(rows.dtype), None, None


def next_token_loss(logits, tokens, ignore_index=-100):
    rows = logits[:, :-1].flatten(0, 1)
    targets = tokens[:, 1:].flatten()
    counts = targets != ignore_index
    return Loss.apply(rows, targets * counts, counts)
