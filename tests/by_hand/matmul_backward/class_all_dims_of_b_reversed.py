# mistakes: all-dims-of-b-reversed
"""A class like an autograd function, with the operands as attributes."""

import torch


class Product:
    def __init__(self, a, b):
        self.a, self.b = a, b

    def grad_of_a(self, grad):
        turned = self.b.permute(tuple(reversed(range(self.b.ndim))))
        return torch.matmul(grad, turned).sum_to_size(self.a.shape)  # first wrong

    def grad_of_b(self, grad):
        return torch.matmul(self.a.transpose(-2, -1), grad).sum_to_size(self.b.shape)


def matmul_backward(a, b, grad_out):
    product = Product(a, b)
    return product.grad_of_a(grad_out), product.grad_of_b(grad_out)
