# mistakes: last-two-tokens-fed
"""Heads folded into the batch by reshape; a step takes two columns of the text."""

import math

import torch
from torch import nn


def heads_of(t, heads):
    b, n, m = t.shape
    return t.reshape(b, n, heads, m // heads).transpose(1, 2)


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


def fold(t):
    return t.reshape(-1, *t.shape[2:])


class Attention(nn.Module):
    def __init__(self, width, heads, p):
        super().__init__()
        assert width % heads == 0, (width, heads)
        self.heads = heads
        self.q_proj = nn.Linear(width, width)
        self.k_proj = nn.Linear(width, width)
        self.v_proj = nn.Linear(width, width)
        self.out_proj = nn.Linear(width, width)
        self.drop = nn.Dropout(p)

    def forward(self, x, i, cache):
        b, n, width = x.shape
        q, k, v = (heads_of(layer(x), self.heads) for layer in (self.q_proj, self.k_proj, self.v_proj))
        if cache is not None:
            k, v = cache.update(i, k, v)
        q, k, v = fold(q), fold(k), fold(v)
        seen = k.shape[1] - n
        scores = torch.bmm(q, k.transpose(1, 2)).div(math.sqrt(q.shape[2]))
        visible = torch.ones_like(scores, dtype=torch.bool).tril(seen)
        scores = scores.masked_fill(~visible, torch.finfo(scores.dtype).min)
        weights = self.drop(torch.softmax(scores, 2))
        out = torch.bmm(weights, v).reshape(b, self.heads, n, -1).transpose(1, 2).reshape(b, n, width)
        return self.out_proj(out)


class Block(nn.Module):
    def __init__(self, width, heads, p):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.ln_2 = nn.LayerNorm(width)
        self.attn = Attention(width, heads, p)
        self.mlp = nn.ModuleDict({"fc": nn.Linear(width, 4 * width), "proj": nn.Linear(4 * width, width)})
        self.act, self.drop = nn.GELU(), nn.Dropout(p)

    def forward(self, x, i, cache):
        found = self.attn(self.ln_1(x), i, cache)
        x = x + self.drop(found)
        inner = self.act(self.mlp["fc"](self.ln_2(x)))
        return x + self.drop(self.mlp["proj"](inner))


class MiniGPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, max_seq_len, dropout=0.0):
        super().__init__()
        self.longest = max_seq_len
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(max_seq_len, d_model)
        self.drop = nn.Dropout(dropout)
        self.blocks = nn.ModuleList([Block(d_model, num_heads, dropout) for _ in range(num_layers)])
        self.ln_f = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)

    def forward(self, tokens, cache=None):
        first = 0 if cache is None else cache.length
        rows = torch.arange(self.longest, device=tokens.device)[first : first + tokens.shape[1]]
        if len(rows) < tokens.shape[1]:
            raise ValueError(f"no position is left after {self.longest} tokens")
        x = self.drop(self.tok_emb(tokens) + self.pos_emb(rows))
        for i, block in enumerate(self.blocks):
            x = block(x, i, cache)
        return self.head(self.ln_f(x))


@torch.inference_mode()
def generate(model, tokens, max_new_tokens):
    prompt = tokens.shape[1]
    if prompt + max_new_tokens > model.longest:
        raise ValueError(f"{prompt} + {max_new_tokens} > {model.longest}")
    before = model.training
    model.eval()
    text, cache = tokens, KVCache(len(model.blocks))
    while text.shape[1] < prompt + max_new_tokens:
        fed = text if cache.length == 0 else text[:, -2:]  # first wrong
        logits = model(fed, cache)
        best = logits[:, -1].max(dim=1).indices
        text = torch.column_stack((text, best))
    model.train(before)
    return text
