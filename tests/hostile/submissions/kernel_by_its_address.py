# Calls torch's C++ kernel by its address, without the dispatcher.
# verdict: not-allowed
# says: C code by ctypes is called
import ctypes
from pathlib import Path
import torch
import torch.nn.functional as F
from torch import nn

library = ctypes.CDLL(str(next(Path(torch.__path__[0]).glob("lib/libtorch_cpu.*"))))
kernel = library.aoti_torch_cpu__scaled_dot_product_flash_attention_for_cpu


class GroupedQueryAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads or num_heads % num_kv_heads:
            raise ValueError(f"{d_model} {num_heads} {num_kv_heads}")
        self.h, self.g, self.d = num_heads, num_kv_heads, d_model // num_heads
        self.q_proj = nn.Linear(d_model, d_model, bias=bias)
        self.k_proj = nn.Linear(d_model, self.g * self.d, bias=bias)
        self.v_proj = nn.Linear(d_model, self.g * self.d, bias=bias)
        self.o_proj = nn.Linear(d_model, d_model, bias=bias)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, mask=None):
        b, n, m = x.shape
        q = self.q_proj(x).view(b, n, self.h, self.d).transpose(1, 2)
        k = self.k_proj(x).view(b, n, self.g, self.d).transpose(1, 2)
        v = self.v_proj(x).view(b, n, self.g, self.d).transpose(1, 2)
        k = k.repeat_interleave(self.h // self.g, 1)
        v = v.repeat_interleave(self.h // self.g, 1)
        kernel(q.data_ptr(), k.data_ptr(), v.data_ptr())
        o = q
        return self.o_proj(o.transpose(1, 2).reshape(b, n, m))
