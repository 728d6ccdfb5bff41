"""Give autograd the formulas of the backward pass, so that layer_norm keeps only x, mean and rstd.

Plain autograd would keep every intermediate tensor of the forward pass. The backward pass computes
the normalised rows a second time, and the gradient of a gradient is not available.
"""

import torch


def statistics(x, eps):
    wide = x if x.dtype == torch.float64 else x.float()
    mean = wide.mean(-1, keepdim=True)
    return mean, 1 / ((wide - mean).pow(2).mean(-1, keepdim=True) + eps).sqrt()


class LayerNorm(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, weight, bias, eps):
        mean, rstd = statistics(x, eps)
        ctx.save_for_backward(x, weight, mean, rstd)
        return torch.addcmul(bias, (x - mean).mul_(rstd), weight).to(x.dtype)

    @staticmethod
    def backward(ctx, grad_out):
        return (*gradients(*ctx.saved_tensors, grad_out), None)


def gradients(x, weight, mean, rstd, grad_out):
    normalised = ((x - mean) * rstd).flatten(0, -2)
    grad = grad_out.flatten(0, -2).to(normalised.dtype)
    g = grad * weight
    both = g.mean(1, keepdim=True) + normalised * (g * normalised).mean(1, keepdim=True)
    dx = (g - both).view(x.shape) * rstd
    dweight = (grad * normalised).sum(0)
    return dx.to(x.dtype), dweight.to(x.dtype), grad.sum(0).to(x.dtype)


def layer_norm(x, weight, bias, eps=1e-5):
    return LayerNorm.apply(x, weight, bias, eps)


def layer_norm_backward(x, weight, grad_out, eps=1e-5):
    return gradients(x, weight, *statistics(x, eps), grad_out)
