# mistakes: a-reshaped-instead-of-transposed, mean-over-dims-of-one
"""Explicit steps with long names, one dim at a time."""


def summed(gradient, operand):
    while gradient.dim() > operand.dim():
        gradient = gradient.sum(0)
    for dim in range(operand.dim()):
        if operand.shape[dim] == 1 and gradient.shape[dim] != 1:
            gradient = gradient.mean(dim, keepdim=True)  # also wrong
    return gradient


def matmul_backward(a, b, grad_out):
    rows, inner = a.shape[-2:]
    transposed = a.reshape(*a.shape[:-2], inner, rows)
    gradient_of_b = transposed @ grad_out  # first wrong
    gradient_of_a = grad_out @ b.transpose(-1, -2)
    return summed(gradient_of_a, a), summed(gradient_of_b, b)
