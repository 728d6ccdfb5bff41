# mistakes: scale-by-d-model
"""Batch and heads in one axis for bmm, the scale put on q, the halves of a head as an axis of their own."""

import torch
from torch import nn


class LlamaAttention(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, max_seq_len=2048, rope_base=10000.0):
        super().__init__()
        if d_model % num_heads or num_heads % num_kv_heads:
            raise ValueError((d_model, num_heads, num_kv_heads))
        self.n_head = num_heads
        self.n_kv = num_kv_heads
        self.hd = d_model // num_heads
        self.q_linear = nn.Linear(d_model, d_model, bias=False)
        self.k_linear = nn.Linear(d_model, self.n_kv * self.hd, bias=False)
        self.v_linear = nn.Linear(d_model, self.n_kv * self.hd, bias=False)
        self.o_linear = nn.Linear(d_model, d_model, bias=False)
        half = self.hd // 2
        theta = torch.pow(torch.tensor(float(rope_base)), -torch.arange(half) / half)
        angles = torch.outer(torch.arange(max_seq_len).float(), theta)
        self.register_buffer("cosines", torch.cos(angles), persistent=False)
        self.register_buffer("sines", torch.sin(angles), persistent=False)

    def forward(self, x, mask=None, position_ids=None):
        bs, seq, width = x.shape
        if position_ids is None:
            position_ids = torch.arange(seq, device=x.device).unsqueeze(0).repeat(bs, 1)
        c = self.cosines[position_ids][:, :, None, None, :]
        s = self.sines[position_ids][:, :, None, None, :]
        sign = x.new_tensor([[-1.0], [1.0]])

        def turned(t):
            pair = t.unflatten(-1, (2, -1))
            return (pair * c + sign * pair.flip(-2) * s).flatten(-2)

        def stacked(t):
            return t.transpose(1, 2).reshape(bs * self.n_head, seq, self.hd)

        q = turned(self.q_linear(x).view(bs, seq, self.n_head, self.hd))
        k = turned(self.k_linear(x).view(bs, seq, self.n_kv, self.hd))
        v = self.v_linear(x).view(bs, seq, self.n_kv, self.hd)
        q = q * width**-0.5  # first wrong
        group = self.n_head // self.n_kv
        q = stacked(q)
        k = stacked(k.repeat_interleave(group, dim=2))
        v = stacked(v.repeat_interleave(group, dim=2))
        att = torch.bmm(q, k.transpose(1, 2))
        if mask is not None:
            allowed = mask.expand(bs, self.n_head, seq, seq).reshape(bs * self.n_head, seq, seq)
            att = torch.where(allowed, att, torch.finfo(att.dtype).min)
        out = torch.bmm(torch.softmax(att, dim=2), v)
        out = out.view(bs, self.n_head, seq, self.hd).transpose(1, 2).reshape(bs, seq, width)
        return self.o_linear(out)
