# mistakes: eps-outside-the-root
"""The standard deviation by std_mean, as in many tutorials."""

import torch


def stats(x):
    return torch.std_mean(x, dim=-1, correction=0, keepdim=True)


def wide(x):
    return x.to(torch.float32) if x.element_size() < 4 else x


def layer_norm(x, weight, bias, eps=1e-5):
    std, mean = stats(wide(x))
    hat = (wide(x) - mean) / (std + eps)  # first wrong
    return torch.addcmul(bias.to(hat.dtype), weight.to(hat.dtype), hat).to(x.dtype)


def layer_norm_backward(x, weight, grad_out, eps=1e-5):
    std, mean = stats(wide(x))
    root = (std**2 + eps) ** 0.5
    hat = (wide(x) - mean) / root
    lead = tuple(range(x.ndim - 1))
    go = wide(grad_out)
    ghat = go * wide(weight)
    inner = ghat - ghat.mean(-1, keepdim=True)
    inner = inner - hat * (ghat * hat).mean(-1, keepdim=True)
    return (
        (inner / root).to(x.dtype),
        (go * hat).sum(lead).to(x.dtype),
        go.sum(lead).to(x.dtype),
    )
