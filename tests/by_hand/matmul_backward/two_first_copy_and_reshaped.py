# mistakes: b-reshaped-instead-of-transposed, first-copy-of-missing-dims
"""Reshapes for everything: the front as one dim."""


def shrink(grad, shape):
    if len(grad.shape) > len(shape):
        grad = grad.reshape(-1, *grad.shape[len(grad.shape) - len(shape) :])
        grad = grad[0]  # also wrong
    for axis in range(len(shape)):
        grad = grad.sum(axis, keepdim=True) if shape[axis] == 1 else grad
    return grad


def matmul_backward(a, b, grad_out):
    k, m = b.shape[-2:]
    da = grad_out @ b.reshape(*b.shape[:-2], m, k)  # first wrong
    db = a.mT @ grad_out
    return shrink(da, a.shape), shrink(db, b.shape)
