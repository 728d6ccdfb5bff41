# mistakes: mask-in-the-gradients-only
"""A dictionary of steps; the mask appears only on the way back."""

import torch


def attention_backward(q, k, v, grad_out, mask=None):
    root = q.size(-1) ** 0.5
    step = {}
    step["scores"] = torch.matmul(q, k.transpose(-1, -2)) / root
    step["weights"] = torch.softmax(step["scores"], -1)  # first wrong
    step["d_weights"] = torch.matmul(grad_out, v.transpose(-1, -2))
    inner = (step["d_weights"] * step["weights"]).sum(-1).unsqueeze(-1)
    step["d_scores"] = step["weights"] * (step["d_weights"] - inner) / root
    if mask is not None:
        step["d_scores"] = torch.where(mask, step["d_scores"], torch.zeros((), dtype=q.dtype))
    dq = torch.matmul(step["d_scores"], k)
    dk = torch.matmul(step["d_scores"].transpose(-1, -2), q)
    return dq, dk, torch.matmul(step["weights"].transpose(-1, -2), grad_out)
