"""Store a [D, D] rotation matrix for every position, and multiply queries and keys by it.

The table and the number of multiplications are D / 2 times as large as in the reference, although
most entries of a matrix are 0. The code needs no rotate_half.
"""

import torch
from torch import nn


class RoPEMultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads, max_seq_len=2048, rope_base=10000.0, dropout=0.0, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("d_model must be a multiple of num_heads")
        self.heads, self.dim = num_heads, d_model // num_heads
        self.W_qkv = nn.Linear(d_model, 3 * d_model, bias)
        self.W_o = nn.Linear(d_model, d_model, bias)
        self.drop = nn.Dropout(dropout)
        half = self.dim // 2
        inverse = torch.reciprocal(torch.pow(torch.tensor(float(rope_base)), torch.arange(half) / half))
        angle = torch.arange(max_seq_len).float().unsqueeze(1) @ inverse.unsqueeze(0)
        cos, sin = torch.diag_embed(angle.cos()), torch.diag_embed(angle.sin())
        rotations = torch.cat((torch.cat((cos, -sin), dim=2), torch.cat((sin, cos), dim=2)), dim=1)  # [T, d, d]
        self.register_buffer("rotations", rotations, persistent=False)

    def forward(self, x, mask=None, position_ids=None):
        b, n, m = x.shape
        if position_ids is None:
            turn = self.rotations[:n].expand(b, n, self.dim, self.dim)
        else:
            turn = self.rotations[position_ids]
        q, k, v = self.W_qkv(x).reshape(b, n, 3, self.heads, self.dim).unbind(dim=2)
        q = torch.einsum("bnxy,bnhy->bhnx", turn.to(q.dtype), q).flatten(0, 1)
        k = torch.einsum("bnxy,bnhy->bhnx", turn.to(k.dtype), k).flatten(0, 1)
        v = v.transpose(1, 2).flatten(0, 1)
        s = torch.bmm(q, k.mT) / self.dim**0.5
        if mask is not None:
            s = s.view(b, self.heads, n, n).masked_fill(mask == 0, -1e9).flatten(0, 1)
        w = self.drop(torch.softmax(s, -1))
        return self.W_o(torch.bmm(w, v).view(b, self.heads, n, self.dim).transpose(1, 2).reshape(b, n, m))
