# mistakes: no-scale, silu-on-both
"""Many short steps in one forward; the layers are in submodules without a forward."""

import torch
import torch.nn as nn
import torch.nn.functional as F


class Holder(nn.Module):
    pass


class LlamaBlock(nn.Module):
    def __init__(self, d_model, num_heads, num_kv_heads, hidden_dim, head_dim=None, max_seq_len=2048, rope_base=10000.0, eps=1e-6):
        super().__init__()
        if head_dim is None and d_model % num_heads != 0:
            raise ValueError("d_model")
        if num_heads % num_kv_heads != 0:
            raise ValueError("num_heads")
        self.n_head = num_heads
        self.n_kv = num_kv_heads
        self.hd = d_model // num_heads if head_dim is None else head_dim
        self.input_norm = nn.RMSNorm(d_model, eps=eps)
        self.post_norm = nn.RMSNorm(d_model, eps=eps)
        self.attn = Holder()
        self.attn.wq = nn.Linear(d_model, self.n_head * self.hd, bias=False)
        self.attn.wk = nn.Linear(d_model, self.n_kv * self.hd, bias=False)
        self.attn.wv = nn.Linear(d_model, self.n_kv * self.hd, bias=False)
        self.attn.wo = nn.Linear(self.n_head * self.hd, d_model, bias=False)
        self.mlp = Holder()
        self.mlp.w1 = nn.Linear(d_model, hidden_dim, bias=False)
        self.mlp.w2 = nn.Linear(hidden_dim, d_model, bias=False)
        self.mlp.w3 = nn.Linear(d_model, hidden_dim, bias=False)
        inv = 1.0 / (rope_base ** (torch.arange(0, self.hd, 2).float() / self.hd))
        freqs = torch.outer(torch.arange(max_seq_len).float(), inv)
        emb = torch.cat((freqs, freqs), -1)
        self.register_buffer("cos_table", emb.cos())
        self.register_buffer("sin_table", emb.sin())

    def forward(self, x, position_ids=None):
        B, T, C = x.shape
        h = self.input_norm(x)
        q = self.attn.wq(h).view(B, T, self.n_head, self.hd)
        k = self.attn.wk(h).view(B, T, self.n_kv, self.hd)
        v = self.attn.wv(h).view(B, T, self.n_kv, self.hd)
        q = q.transpose(1, 2)
        k = k.transpose(1, 2)
        v = v.transpose(1, 2)
        if position_ids is None:
            cos = self.cos_table[:T]
            sin = self.sin_table[:T]
        else:
            cos = self.cos_table[position_ids][:, None]
            sin = self.sin_table[position_ids][:, None]
        half = self.hd // 2
        q_turned = torch.cat((-q[..., half:], q[..., :half]), -1)
        k_turned = torch.cat((-k[..., half:], k[..., :half]), -1)
        q = q * cos + q_turned * sin
        k = k * cos + k_turned * sin
        groups = self.n_head // self.n_kv
        k = torch.repeat_interleave(k, groups, dim=1)
        v = torch.repeat_interleave(v, groups, dim=1)
        att = q @ k.transpose(-2, -1)
        future = torch.triu(torch.ones(T, T, device=x.device), diagonal=1).bool()
        att = att.masked_fill(future, float("-inf"))
        att = att.softmax(-1)  # first wrong
        y = att @ v
        y = y.transpose(1, 2).reshape(B, T, self.n_head * self.hd)
        x = x + self.attn.wo(y)
        h = self.post_norm(x)
        gate = F.silu(self.mlp.w1(h))
        up = F.silu(self.mlp.w3(h))  # also wrong
        return x + self.mlp.w2(gate * up)
