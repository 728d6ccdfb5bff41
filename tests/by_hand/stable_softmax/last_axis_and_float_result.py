# mistakes: axis-ignored, result-in-float32
"""The axis of the caller is never read, and the result stays float32."""

import torch


def softmax(x, dim=-1):
    wide = x.float() if x.dtype == torch.bfloat16 else x
    top = wide.amax(-1, keepdim=True)  # first wrong
    top = torch.where(top == float("-inf"), torch.zeros_like(top), top)
    e = torch.exp(wide - top)
    z = e.sum(-1, keepdim=True)
    return (e / torch.where(z == 0, torch.ones_like(z), z)).to(torch.float32)  # also wrong
