# mistakes: mean-over-missing-dims
"""An unbroadcast helper with a while loop, as small autograd engines have it."""


def unbroadcast(grad, shape):
    while grad.dim() > len(shape):
        grad = grad.mean(dim=0)  # first wrong
    for axis, size in enumerate(shape):
        if size == 1:
            grad = grad.sum(dim=axis, keepdim=True)
    return grad


def matmul_backward(a, b, grad_out):
    da = grad_out @ b.transpose(-1, -2)
    db = a.transpose(-1, -2) @ grad_out
    return unbroadcast(da, a.shape), unbroadcast(db, b.shape)
