# mistakes: mask-offset-read-after-the-update
"""A softmax with logsumexp and numbered attention; the rows of the mask ask the cache for its length."""

import torch
from torch import nn
from torch.nn.functional import gelu


class KVCache:
    def __init__(self, num_layers):
        self.keys = [None] * num_layers
        self.values = [None] * num_layers
        self.length = 0

    def update(self, layer, k, v):
        if self.keys[layer] is not None:
            k = torch.cat([self.keys[layer], k], dim=2)
            v = torch.cat([self.values[layer], v], dim=2)
        self.keys[layer] = k
        self.values[layer] = v
        if layer == len(self.keys) - 1:
            self.length = k.shape[2]
        return k, v


class SelfAttention(nn.Module):
    def __init__(self, dim, heads, drop, number):
        super().__init__()
        if dim % heads > 0:
            raise ValueError(f"dim {dim} and heads {heads} do not match")
        self.heads, self.number = heads, number
        self.q_proj = nn.Linear(dim, dim)
        self.k_proj = nn.Linear(dim, dim)
        self.v_proj = nn.Linear(dim, dim)
        self.o_proj = nn.Linear(dim, dim)
        self.drop = nn.Dropout(drop)

    def forward(self, x, cache):
        b, n, dim = x.shape
        shape = (b, n, self.heads, dim // self.heads)
        q = self.q_proj(x).view(shape).permute(0, 2, 1, 3)
        k = self.k_proj(x).view(shape).permute(0, 2, 1, 3)
        v = self.v_proj(x).view(shape).permute(0, 2, 1, 3)
        first = 0
        if cache is not None:
            k, v = cache.update(self.number, k, v)
            first = cache.length
        row = torch.arange(first, first + n, device=x.device)
        keep = torch.arange(k.shape[2], device=x.device)[None, :] <= row[:, None]
        logits = torch.einsum("bhid,bhjd->bhij", q, k).mul(shape[-1] ** -0.5)
        logits = logits.masked_fill(keep.logical_not(), float("-inf"))  # first wrong
        probs = (logits - logits.logsumexp(-1, keepdim=True)).exp()
        out = torch.einsum("bhij,bhjd->bihd", self.drop(probs), v)
        return self.o_proj(out.reshape(b, n, dim))


class FeedForward(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim * 4)
        self.proj = nn.Linear(dim * 4, dim)

    def forward(self, x):
        return self.proj(gelu(self.fc(x)))


class Block(nn.Module):
    def __init__(self, dim, heads, drop, number):
        super().__init__()
        self.ln_1 = nn.LayerNorm(dim)
        self.attn = SelfAttention(dim, heads, drop, number)
        self.ln_2 = nn.LayerNorm(dim)
        self.mlp = FeedForward(dim)
        self.drop_1, self.drop_2 = nn.Dropout(drop), nn.Dropout(drop)

    def forward(self, x, cache):
        x = x + self.drop_1(self.attn(self.ln_1(x), cache))
        return x + self.drop_2(self.mlp(self.ln_2(x)))


class MiniGPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, max_seq_len, dropout=0.0):
        super().__init__()
        self.context = max_seq_len
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(max_seq_len, d_model)
        self.drop = nn.Dropout(dropout)
        self.blocks = nn.ModuleList([Block(d_model, num_heads, dropout, i) for i in range(num_layers)])
        self.ln_f = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)

    def forward(self, tokens, cache=None):
        start = cache.length if cache else 0
        stop = start + tokens.shape[1]
        if stop > self.context:
            raise ValueError(f"{stop} > {self.context}")
        x = self.tok_emb(tokens)
        x = self.drop(x + self.pos_emb.weight[start:stop])
        for block in self.blocks:
            x = block(x, cache)
        return self.head(self.ln_f(x))


def generate(model, tokens, max_new_tokens):
    if tokens.shape[1] + max_new_tokens > model.context:
        raise ValueError(f"{tokens.shape[1]} + {max_new_tokens} > {model.context}")
    was_training = model.training
    model.eval()
    fed, cache, columns = tokens, KVCache(len(model.blocks)), [tokens]
    with torch.no_grad():
        for _ in range(max_new_tokens):
            logits = model(fed, cache)
            fed = logits[:, -1].max(dim=-1, keepdim=True).indices
            columns.append(fed)
    model.train(was_training)
    return torch.hstack(columns)
