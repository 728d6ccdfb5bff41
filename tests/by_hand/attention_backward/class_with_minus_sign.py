# mistakes: sign-of-the-softmax
"""A class keeps what the backward pass needs, and subtracts the wrong way round."""

import torch


class Softmax:
    def __call__(self, x):
        shifted = x - x.amax(-1, keepdim=True)
        e = shifted.exp()
        self.y = e / e.sum(-1, keepdim=True)
        return self.y

    def back(self, g):
        inner = torch.einsum("...j,...j->...", self.y, g).unsqueeze(-1)
        difference = inner - g
        return self.y * difference  # first wrong


def attention_backward(q, k, v, grad_out, mask=None):
    softmax = Softmax()
    factor = q.shape[-1] ** -0.5
    scores = factor * (q @ k.mT)
    if mask is not None:
        scores = torch.where(mask, scores, float("-inf"))
    y = softmax(scores)
    g = factor * softmax.back(grad_out @ v.mT)
    return g @ k, g.mT @ q, y.mT @ grad_out
