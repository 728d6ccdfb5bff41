# Reads torch's source file in forward and runs a function of it.
# verdict: not-allowed
# says: copy of torch's attention
import ast
from pathlib import Path
import torch
import torch.nn.functional as F
from torch import nn


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
        tree = ast.parse(Path(F.__file__).read_text(encoding="utf-8"))
        wanted = "multi_head_attention_forward"
        tree.body = [node for node in tree.body if getattr(node, "name", "") == wanted][-1:]
        names = dict(vars(F))
        exec(compile(tree, "mine.py", "exec"), names)
        attend = names[wanted]
        o = attend(
            x, x, x, m, self.h, x.new_zeros(3 * m, m), None, None, None, False, 0.0, x.new_zeros(m, m), None
        )[0].view(b, n, self.h, self.d).transpose(1, 2)
        return self.o_proj(o.transpose(1, 2).reshape(b, n, m))
