"""Write the rotation as an autograd.Function that rotates back in its backward pass.

The backward pass needs none of the zero-filled tensors that autograd makes for slices with a step.
Cosines and sines are cast to the dtype of x, which costs accuracy in bfloat16.
"""

import torch


def turn(x, cos, sin):
    a, b = x.unflatten(-1, (-1, 2)).unbind(-1)
    return torch.stack((torch.addcmul(a * cos, b, sin, value=-1), torch.addcmul(b * cos, a, sin)), dim=-1).flatten(-2)


class Rotation(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, cos, sin):
        ctx.save_for_backward(cos, sin)
        return turn(x, cos, sin)

    @staticmethod
    def backward(ctx, grad):
        cos, sin = ctx.saved_tensors
        return turn(grad, cos, -sin), None, None


def apply_rope_interleaved(x, position_ids, base=10000.0):
    dim = x.size(-1)
    steps = torch.arange(dim // 2, device=x.device, dtype=torch.float32) * (2 / dim)
    angles = position_ids.unsqueeze(-1) / base**steps
    angles = angles.view(-1, 1, *angles.shape[-2:])
    return Rotation.apply(x, angles.cos().to(x.dtype), angles.sin().to(x.dtype))
