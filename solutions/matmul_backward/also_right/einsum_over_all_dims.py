"""Give every dim a letter and let einsum sum over the broadcast dims inside the product.

No gradient with all leading dims is made and summed afterwards. The letters must be assigned by
hand from the right, and dims of size 1 get none.
"""

import string

import torch


def letters_of(shape, full):
    names = full[len(full) - len(shape) + 2 :]
    return "".join(name for name, size in zip(names, shape[:-2]) if size != 1)


def squeezed(t):
    keep = [size for size in t.shape[:-2] if size != 1]
    return t.reshape(*keep, *t.shape[-2:])


def matmul_backward(a, b, grad_out):
    full = string.ascii_uppercase[: grad_out.dim() - 2]
    in_a, in_b, in_y = (letters_of(t.shape, full) for t in (a, b, grad_out))
    g = squeezed(grad_out)
    da = torch.einsum(f"{in_y}nm,{in_b}km->{in_a}nk", g, squeezed(b))
    db = torch.einsum(f"{in_a}nk,{in_y}nm->{in_b}km", squeezed(a), g)
    return da.reshape(a.shape), db.reshape(b.shape)
