# mistakes: softmax-over-queries
# diagnosis: no line
"""A class with static methods behind the three functions."""

from math import sqrt

import numpy as np


class Attention:
    """All steps by name."""

    @staticmethod
    def normalise(x, axis):
        peak = x.max(axis, keepdims=True)
        peak = np.where(peak == float("-inf"), 0, peak)
        raised = np.exp(np.subtract(x, peak))
        mass = raised.sum(axis, keepdims=True)
        return raised / np.where(mass > 0, mass, 1)

    @staticmethod
    def similarity(q, k):
        return q / sqrt(q.shape[-1]) @ k.swapaxes(-2, -1)

    @classmethod
    def attend(cls, q, k, v, mask):
        s = cls.similarity(q, k)
        if mask is not None:
            np.putmask(s, ~np.broadcast_to(mask, s.shape), -np.inf)
        w = cls.normalise(s, -2)  # first wrong
        return w @ v, w


def softmax(x, axis=-1):
    return Attention.normalise(x, axis)


def scaled_dot_product_attention(q, k, v, mask=None):
    return Attention.attend(q, k, v, mask)


def multi_head_attention(x, w_q, w_k, w_v, w_o, num_heads, causal=False):
    rows, columns = x.shape
    if columns % num_heads:
        raise ValueError(num_heads)
    parts = [(x @ w).reshape(rows, num_heads, -1).swapaxes(0, 1) for w in (w_q, w_k, w_v)]
    order = np.arange(rows)
    mask = order[:, None] >= order if causal else None
    heads, _ = Attention.attend(*parts, mask)
    return np.hstack([*heads]) @ w_o
