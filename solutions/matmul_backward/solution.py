"""The backward pass of y = a @ b, also if leading dims were broadcast.

    da = grad_out b^T    db = a^T grad_out

Broadcasting copies an operand, so its gradient is the sum over all copies.
"""


def matmul_backward(a, b, grad_out):
    """Return da and db, in the shapes of a [..., n, k] and b [..., k, m]; grad_out [..., n, m]."""
    # both products broadcast like y, so both have its leading dims
    full_da = grad_out @ b.transpose(-2, -1)  # [..., n, k]
    full_db = a.transpose(-2, -1) @ grad_out  # [..., k, m]
    da = sum_to_shape(full_da, a.shape)
    db = sum_to_shape(full_db, b.shape)
    return da, db


def sum_to_shape(grad, shape):
    """Sum a gradient over all dims in which an operand of this shape was broadcast."""
    missing = grad.dim() - len(shape)  # leading dims that the operand does not have
    if missing > 0:  # a sum over no dims would sum over all dims
        grad = grad.sum(dim=tuple(range(missing)))

    # the gradient may have the size 1 there, too; then the sum changes nothing
    stretched = [axis for axis, size in enumerate(shape) if size == 1]
    if stretched:
        grad = grad.sum(dim=stretched, keepdim=True)
    return grad
