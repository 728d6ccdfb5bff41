# mistakes: only-one-missing-dim-summed
"""Comprehensions; the front is cut with one sum."""


def matmul_backward(a, b, grad_out):
    grads = grad_out.matmul(b.swapaxes(-1, -2)), a.swapaxes(-1, -2).matmul(grad_out)
    results = []
    for operand, grad in zip((a, b), grads):
        if grad.ndim > operand.ndim:
            grad = grad.sum(0)  # first wrong
        for axis in range(operand.ndim):
            if operand.size(axis) == 1:
                grad = grad.sum(axis, keepdim=True)
        results.append(grad)
    return results[0], results[1]
