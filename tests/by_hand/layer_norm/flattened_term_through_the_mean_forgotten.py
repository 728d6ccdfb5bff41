# mistakes: term-through-the-mean-forgotten
"""All rows in one matrix, and einsum for the sums."""

import torch


def as_rows(t):
    kind = torch.float64 if t.dtype == torch.float64 else torch.float32
    return t.reshape(-1, t.shape[-1]).to(kind)


def normal_rows(x, eps):
    r = as_rows(x)
    r = r - r.mean(1)[:, None]
    inv = (torch.einsum("nd,nd->n", r, r) / r.shape[1] + eps).rsqrt()[:, None]
    return r * inv, inv


def layer_norm(x, weight, bias, eps=1e-5):
    z, _ = normal_rows(x, eps)
    return (bias + z * weight).reshape(x.shape).to(x.dtype)


def layer_norm_backward(x, weight, grad_out, eps=1e-5):
    z, inv = normal_rows(x, eps)
    up = as_rows(grad_out)
    dz = up * weight
    overlap = torch.einsum("nd,nd->n", dz, z)[:, None] / z.shape[1]
    dx = inv * (dz - overlap * z)  # first wrong
    found = dx.reshape(x.shape), torch.einsum("nd,nd->d", up, z), up.sum(0)
    return tuple(part.to(x.dtype) for part in found)
