# mistakes: da-not-summed
"""Two lines, with sum_to_size for the weight only."""


def matmul_backward(a, b, grad_out):
    db = (a.mT @ grad_out).sum_to_size(b.shape)
    return grad_out @ b.mT, db  # first wrong
