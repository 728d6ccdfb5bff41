"""Print, warn and measure the time in forward, as a beginner does to find a mistake.

item, all and any wait for a GPU at each call, and the prints split the graph of torch.compile. The
stored weights keep their memory until the next call.
"""

import inspect
import sys
import time
import traceback
import warnings

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

DEBUG = True


def log(*a):
    if DEBUG:
        frame = inspect.currentframe().f_back
        print(f"[{frame.f_code.co_name}:{frame.f_lineno}]", *a, file=sys.stderr)


class MultiHeadAttention(nn.Module):
    calls = 0

    def __init__(self, d_model, num_heads, dropout=0.0, bias=True):
        super(MultiHeadAttention, self).__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"d_model ({d_model}) must be divisible by num_heads ({num_heads})")
        self.d_model = d_model
        self.num_heads = num_heads
        self.d_k = int(d_model / num_heads)
        self.W_q = nn.Linear(d_model, d_model, bias)
        self.W_k = nn.Linear(d_model, d_model, bias)
        self.W_v = nn.Linear(d_model, d_model, bias)
        self.W_o = nn.Linear(d_model, d_model, bias)
        self.dropout = nn.Dropout(dropout)
        self.scale = 1 / np.sqrt(self.d_k)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)
        self.times = []
        self.last_attention = None

    def split_heads(self, x):
        B, L, _ = x.size()
        return x.view(B, L, self.num_heads, self.d_k).transpose(1, 2)

    def forward(self, query, key, value, mask=None, return_weights=False):
        MultiHeadAttention.calls += 1
        start = time.time()
        log("shapes", query.shape, key.shape, value.shape, None if mask is None else mask.shape)
        print("query mean", query.mean().item(), "dtype", query.dtype)
        if query.shape[1] > 10_000:
            warnings.warn("long sequence", stacklevel=2)
        Q = self.split_heads(self.W_q(query))
        K = self.split_heads(self.W_k(key))
        V = self.split_heads(self.W_v(value))
        try:
            scores = torch.matmul(Q, K.transpose(-2, -1)) * float(self.scale)
        except RuntimeError:
            traceback.print_exc()
            raise
        if mask is not None:
            if bool(mask.all()):
                log("mask is all True")
            scores = scores.masked_fill(mask == False, float("-inf"))  # noqa: E712
        weights = F.softmax(scores, dim=-1)
        if torch.isnan(weights).any():
            warnings.warn("NaN in weights")
        self.last_attention = weights.detach()
        context = torch.matmul(self.dropout(weights), V)
        context = context.transpose(1, 2).contiguous().view(query.size(0), -1, self.d_model)
        output = self.W_o(context)
        self.times.append(time.time() - start)
        if return_weights:
            return output, weights
        return output


if __name__ == "__main__":
    m = MultiHeadAttention(16, 4)
    print(m(torch.randn(1, 3, 16), torch.randn(1, 3, 16), torch.randn(1, 3, 16)).shape)
