# mistakes: second-norm-missing, new-cache-in-every-step
"""Blocks written step by step with functional calls; the MLP reads x, and a step has a new cache."""

import math

import torch
from torch import nn
from torch.nn import functional as F


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


class CausalAttention(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("embed_dim must be divisible by num_heads")
        self.embed_dim, self.num_heads, self.dropout = embed_dim, num_heads, dropout
        self.qkv_proj = nn.Linear(embed_dim, 3 * embed_dim)
        self.out_proj = nn.Linear(embed_dim, embed_dim)

    def heads_of(self, x, number):
        rows = slice(number * self.embed_dim, (number + 1) * self.embed_dim)
        y = F.linear(x, self.qkv_proj.weight[rows], self.qkv_proj.bias[rows])
        return y.view(*x.shape[:2], self.num_heads, -1).swapaxes(1, 2)

    def forward(self, x, depth, cache):
        q, k, v = self.heads_of(x, 0), self.heads_of(x, 1), self.heads_of(x, 2)
        if cache is not None:
            k, v = cache.update(depth, k, v)
        rows, columns = q.size(2), k.size(2)
        mask = torch.full((rows, columns), -math.inf, device=x.device, dtype=x.dtype)
        mask = torch.triu(mask, columns - rows + 1)
        att = torch.softmax(q @ k.swapaxes(2, 3) / math.sqrt(q.size(3)) + mask, -1)
        att = F.dropout(att, self.dropout, self.training)
        return self.out_proj((att @ v).swapaxes(1, 2).flatten(2))


class Block(nn.Module):
    def __init__(self, embed_dim, num_heads, dropout):
        super().__init__()
        self.dropout = dropout
        self.ln_1 = nn.LayerNorm(embed_dim)
        self.attn = CausalAttention(embed_dim, num_heads, dropout)
        self.ln_2 = nn.LayerNorm(embed_dim)
        self.mlp = nn.Sequential()
        self.mlp.add_module("fc", nn.Linear(embed_dim, 4 * embed_dim))
        self.mlp.add_module("gelu", nn.GELU())
        self.mlp.add_module("proj", nn.Linear(4 * embed_dim, embed_dim))

    def forward(self, x, depth, cache):
        normed = self.ln_1(x)
        attended = self.attn(normed, depth, cache)
        x = x + F.dropout(attended, self.dropout, self.training)
        changed = self.mlp(x)  # first wrong
        return x + F.dropout(changed, self.dropout, self.training)


class MiniGPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, max_seq_len, dropout=0.0):
        super().__init__()
        self.max_seq_len, self.dropout = max_seq_len, dropout
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(max_seq_len, d_model)
        self.blocks = nn.ModuleList([Block(d_model, num_heads, dropout) for _ in range(num_layers)])
        self.ln_f = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)

    def forward(self, tokens, cache=None):
        past = 0
        if cache is not None:
            past = cache.length
        last = past + tokens.size(1) - 1
        if last >= self.max_seq_len:
            raise ValueError(f"position {last} does not exist")
        positions = torch.linspace(past, last, tokens.size(1), device=tokens.device).round().long()
        x = self.tok_emb(tokens) + F.embedding(positions, self.pos_emb.weight)
        x = F.dropout(x, self.dropout, self.training)
        for depth in range(len(self.blocks)):
            x = self.blocks[depth](x, depth, cache)
        return F.linear(self.ln_f(x), self.head.weight)


def generate(model, tokens, max_new_tokens):
    if tokens.size(1) + max_new_tokens > model.max_seq_len:
        raise ValueError(f"{tokens.size(1)} + {max_new_tokens} > {model.max_seq_len}")
    training = model.training
    model.eval()
    result = [tokens]
    with torch.no_grad():
        for _ in range(max_new_tokens):
            logits = model(result[-1], KVCache(len(model.blocks)))  # also wrong
            result.append(logits[:, -1].argmax(dim=1, keepdim=True))
    model.train(training)
    return torch.cat(result, dim=1)
