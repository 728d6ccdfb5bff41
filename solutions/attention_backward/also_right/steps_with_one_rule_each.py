"""Write one small backward function for each step of the forward pass, and call them in reverse.

You can test every rule alone and reuse it in another backward pass. There are more lines than
formulas, and every step keeps its own result.
"""

import math

import torch


def product_backward(a, b, grad):
    """c = a @ b"""
    return grad @ b.transpose(-2, -1), a.transpose(-2, -1) @ grad


def softmax_backward(y, grad):
    """y = softmax(x)"""
    inner = torch.sum(y * grad, dim=-1, keepdim=True)
    return y * grad - y * inner


def masked_backward(mask, grad):
    """y = x where the mask is True"""
    return grad if mask is None else grad * mask


def attention_backward(q, k, v, grad_out, mask=None):
    root = math.sqrt(q.shape[-1])
    key_columns = k.transpose(-2, -1)
    scaled = q @ key_columns / root
    visible = scaled if mask is None else scaled.masked_fill(~mask, float("-inf"))
    weights = torch.softmax(visible, dim=-1)

    grad_weights, grad_v = product_backward(weights, v, grad_out)
    grad_visible = softmax_backward(weights, grad_weights)
    grad_scaled = masked_backward(mask, grad_visible)
    grad_q, grad_columns = product_backward(q, key_columns, grad_scaled / root)
    return grad_q, grad_columns.transpose(-2, -1), grad_v
