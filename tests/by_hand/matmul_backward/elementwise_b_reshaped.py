# mistakes: b-reshaped-instead-of-transposed
"""Sums of products of single entries, without a matrix product."""


def matmul_backward(a, b, grad_out):
    flipped = b.reshape(*b.shape[:-2], b.shape[-1], b.shape[-2])
    da = (grad_out.unsqueeze(-1) * flipped.unsqueeze(-3)).sum(dim=-2)  # first wrong
    db = (a.unsqueeze(-1) * grad_out.unsqueeze(-2)).sum(dim=-3)
    return da.sum_to_size(a.shape), db.sum_to_size(b.shape)
