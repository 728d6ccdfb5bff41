"""Pad the shape of an operand with ones in front, sum once, and reshape.

Missing dims and dims of size 1 become one case, so there is only one sum. The reshape in the end is
safe because only ones are dropped.
"""


def unbroadcast(grad, like):
    padded = (1,) * (grad.ndim - like.ndim) + tuple(like.shape)
    axes = [i for i, (have, want) in enumerate(zip(grad.shape, padded)) if have != want]
    if axes:
        grad = grad.sum(axes, keepdim=True)
    return grad.reshape(like.shape)


def matmul_backward(a, b, grad_out):
    return (
        unbroadcast(grad_out.matmul(b.swapaxes(-1, -2)), a),
        unbroadcast(a.swapaxes(-1, -2).matmul(grad_out), b),
    )
