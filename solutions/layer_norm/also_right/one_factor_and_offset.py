"""Turn each row into a * x + b, forward and backward, as CPU kernels do.

The kernel then reads x once and makes one multiply-add for each entry. The products a * x and b
nearly cancel if the mean is far from 0, so this form loses some digits there.
"""

import torch


def row_numbers(x, eps):
    fine = x.to(torch.promote_types(x.dtype, torch.float32))
    std, mean = torch.std_mean(fine, dim=-1, unbiased=False, keepdim=True)
    return fine, mean, (std * std + eps).rsqrt()


def layer_norm(x, weight, bias, eps=1e-5):
    fine, mean, a = row_numbers(x, eps)
    b = -mean * a
    return torch.addcmul(bias.to(fine.dtype), fine * a + b, weight.to(fine.dtype)).to(x.dtype)


def layer_norm_backward(x, weight, grad_out, eps=1e-5):
    fine, mean, a = row_numbers(x, eps)
    go = grad_out.to(fine.dtype)
    gw = go * weight
    with_x = (gw * fine).sum(-1, keepdim=True)
    alone = gw.sum(-1, keepdim=True)
    b = (alone * mean - with_x) * a**3 / x.size(-1)
    c = -b * mean - alone * a / x.size(-1)
    dx = a * gw + b * fine + c
    dweight, dbias = go * (fine - mean) * a, go
    for _ in range(x.dim() - 1):
        dweight, dbias = dweight.sum(0), dbias.sum(0)
    return dx.to(x.dtype), dweight.to(x.dtype), dbias.to(x.dtype)
