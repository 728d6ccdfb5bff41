# mistakes: one-b-for-all-assumed
"""The backward pass of a linear layer: all rows together."""


def matmul_backward(a, b, grad_out):
    da = grad_out @ b.transpose(-2, -1)
    rows = a.reshape(-1, a.shape[-1])  # first wrong
    grads = grad_out.reshape(-1, grad_out.shape[-1])
    db = rows.t() @ grads
    return fit(da, a.shape), fit(db, b.shape)


def fit(grad, shape):
    extra = grad.dim() - len(shape)
    if extra > 0:
        grad = grad.sum(dim=tuple(range(extra)))
    thin = [axis for axis, size in enumerate(shape) if size == 1]
    if thin:
        grad = grad.sum(dim=thin, keepdim=True)
    return grad
