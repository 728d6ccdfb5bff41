# Scores every old query again, in a BLAS that is called by address.
# of: kv-cache
# verdict: failed not-allowed error
# without: the same, it does nothing that a sandbox would see
import ctypes
import glob
import os

import numpy as np
import torch
from torch import nn

found = glob.glob(os.path.dirname(np.__file__) + ".libs/libscipy_openblas64_*")
gemm = ctypes.CDLL(found[0]).scipy_cblas_dgemm64_ if found else None


def everything(q, k):
    b, h, n, d = k.shape
    left, right = q.double().contiguous(), k.double().contiguous()
    out = torch.empty(b, h, n, n, dtype=torch.float64)
    N, D, one = ctypes.c_int64(n), ctypes.c_int64(d), ctypes.c_double(1)
    for i in range(b * h):
        gemm(
            101,
            111,
            112,
            N,
            N,
            D,
            one,
            ctypes.c_void_p(left.data_ptr() + 8 * i * n * d),
            D,
            ctypes.c_void_p(right.data_ptr() + 8 * i * n * d),
            D,
            ctypes.c_double(0),
            ctypes.c_void_p(out.data_ptr() + 8 * i * n * n),
            N,
        )
    return out


class CachedMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, bias=True):
        super().__init__()
        if d_model % num_heads:
            raise ValueError(f"{d_model} {num_heads}")
        self.h, self.d = num_heads, d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, d_model, bias=bias)
        self.v_proj = nn.Linear(d_model, d_model, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, x, past_kv=None, use_cache=False):
        b, n, m = x.shape
        q = self.q_proj(x).view(b, n, self.h, self.d).transpose(1, 2)
        k = self.k_proj(x).view(b, n, self.h, self.d).transpose(1, 2)
        v = self.v_proj(x).view(b, n, self.h, self.d).transpose(1, 2)
        p = 0
        if past_kv is not None:
            p = past_kv[0].shape[2]
            k, v = torch.cat([past_kv[0], k], 2), torch.cat([past_kv[1], v], 2)
            with torch.no_grad():
                every_query = torch.cat([past_kv[0], q], 2).detach()
                everything(every_query, k.detach())
        s = q @ k.mT / self.d**0.5
        s = s.masked_fill(~torch.ones(n, p + n, dtype=torch.bool).tril(p), float("-inf"))
        out = self.o_proj((s.softmax(-1) @ v).transpose(1, 2).reshape(b, n, m))
        return (out, (k, v)) if use_cache else out
