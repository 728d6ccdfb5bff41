"""Remove the broadcast dims one at a time, as small autograd engines do.

The two loops follow the rules of broadcasting backwards and are easy to say aloud. Each sum makes a
new tensor, so several broadcast dims cost several passes over memory.
"""

import torch


def _reduce(gradient: torch.Tensor, shape: torch.Size) -> torch.Tensor:
    while gradient.dim() > len(shape):
        gradient = gradient.sum(dim=0)
    for axis in range(len(shape)):
        if shape[axis] == 1 and gradient.shape[axis] > 1:
            gradient = gradient.sum(dim=axis, keepdim=True)
    return gradient


def matmul_backward(a: torch.Tensor, b: torch.Tensor, grad_out: torch.Tensor):
    da = torch.matmul(grad_out, torch.transpose(b, -1, -2))
    # (grad_out^T a)^T is a^T grad_out
    db = torch.matmul(grad_out.transpose(-1, -2), a).transpose(-1, -2)
    return _reduce(da, a.shape), _reduce(db, b.shape)
