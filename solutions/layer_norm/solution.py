"""Layer normalisation and its backward pass: every row gets the mean 0 and the variance 1.

    x_hat = (x - mean) * rstd    rstd = 1 / sqrt(variance + eps)    out = x_hat * weight + bias
    dx = rstd * (g - mean(g) - x_hat * mean(g * x_hat))    with g = grad_out * weight

All means run over the features of one row. Ba, Kiros and Hinton 2016, "Layer Normalization".
"""

import torch


def layer_norm(x, weight, bias, eps=1e-5):
    """Return the normalised rows. x [..., D], weight [D], bias [D] -> [..., D]."""
    # bfloat16 has 8 bits: a mean far from 0 would be rounded by a large part of a deviation
    wide = x.to(torch.promote_types(x.dtype, torch.float32))
    mean = wide.mean(dim=-1, keepdim=True)
    centred = wide - mean
    # biased, so divided by D; E[x^2] - E[x]^2 would lose most digits next to a large mean
    variance = centred.square().mean(dim=-1, keepdim=True)
    # eps is inside the root: a row of equal entries becomes 0
    normalised = centred * torch.rsqrt(variance + eps)
    scaled = normalised * weight
    out = scaled + bias
    return out.to(x.dtype)


def layer_norm_backward(x, weight, grad_out, eps=1e-5):
    """Return dx [..., D], dweight [D], dbias [D] for the gradient grad_out [..., D]."""
    finer = torch.promote_types(x.dtype, torch.float32)
    row_variance, row_mean = torch.var_mean(x.to(finer), dim=-1, correction=0, keepdim=True)
    rstd = (row_variance + eps) ** -0.5
    x_hat = (x - row_mean) * rstd

    # all rows share weight and bias, so their gradients are sums over the rows
    grad = grad_out.to(finer)
    rows = tuple(range(x.dim() - 1))
    dbias = grad.sum(dim=rows)
    dweight = (grad * x_hat).sum(dim=rows)

    # the mean and the variance of a row depend on each of its entries: a term for each of them
    grad_hat = grad * weight
    through_mean = grad_hat.mean(dim=-1, keepdim=True)
    through_variance = x_hat * (grad_hat * x_hat).mean(dim=-1, keepdim=True)
    dx = rstd * (grad_hat - through_mean - through_variance)
    return dx.to(x.dtype), dweight.to(x.dtype), dbias.to(x.dtype)
