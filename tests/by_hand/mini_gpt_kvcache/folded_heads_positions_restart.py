# mistakes: positions-restart
"""Heads folded into the batch for baddbmm; the table of positions is read from its first row."""

import torch
import torch.nn.functional as F
from torch import nn


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


class FoldedAttention(nn.Module):
    def __init__(self, m, h, p):
        super().__init__()
        if m % h:
            raise ValueError(f"{m} features, {h} heads")
        self.h, self.d, self.p = h, m // h, p
        self.qkv_proj = nn.Linear(m, 3 * m)
        self.o_proj = nn.Linear(m, m)

    def forward(self, x, number, cache):
        b, n, m = x.shape
        folded = self.qkv_proj(x).view(b, n, 3, self.h, self.d).permute(2, 0, 3, 1, 4)
        q, k, v = folded.unbind(0)
        if cache is not None:
            k, v = cache.update(number, k, v)
        q, k, v = q.flatten(0, 1), k.flatten(0, 1), v.flatten(0, 1)  # [B H, L, D]
        total = k.shape[1]
        hidden = torch.ones(n, total, dtype=torch.bool, device=x.device).triu(total - n + 1)
        bias = torch.zeros(n, total, dtype=x.dtype, device=x.device).masked_fill(hidden, float("-inf"))
        scores = torch.baddbmm(bias.expand(b * self.h, n, total), q, k.mT, alpha=self.d**-0.5)
        weights = F.dropout(scores.softmax(-1), self.p, self.training)
        out = torch.bmm(weights, v).unflatten(0, (b, self.h)).transpose(1, 2).flatten(2)
        return self.o_proj(out)


class Mlp(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.fc, self.proj = nn.Linear(m, 4 * m), nn.Linear(4 * m, m)

    def forward(self, x):
        return self.proj(F.gelu(self.fc(x)))


class Block(nn.Module):
    def __init__(self, m, h, p):
        super().__init__()
        self.ln_1, self.attn = nn.LayerNorm(m), FoldedAttention(m, h, p)
        self.ln_2, self.mlp = nn.LayerNorm(m), Mlp(m)
        self.drop = nn.Dropout(p)

    def forward(self, x, number, cache):
        x = torch.add(x, self.drop(self.attn(self.ln_1(x), number, cache)))
        return torch.add(x, self.drop(self.mlp(self.ln_2(x))))


class MiniGPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, max_seq_len, dropout=0.0):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(max_seq_len, d_model)
        self.drop = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(Block(d_model, num_heads, dropout) for _ in range(num_layers))
        self.ln_f = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)

    @property
    def room(self):
        return self.pos_emb.weight.shape[0]

    def forward(self, tokens, cache=None):
        n = tokens.shape[1]
        cached = cache.length if cache is not None else 0
        if n > self.room - cached:
            raise ValueError(f"{n} tokens, room for {self.room - cached}")
        x = self.tok_emb(tokens)
        x = x + self.pos_emb.weight[:n]  # first wrong
        x = self.drop(x)
        for number, block in enumerate(self.blocks):
            x = block(x, number, cache)
        return self.head(self.ln_f(x))


def generate(model, tokens, max_new_tokens):
    if max_new_tokens > model.room - tokens.shape[1]:
        raise ValueError(f"{max_new_tokens} new tokens, room for {model.room - tokens.shape[1]}")
    mode = model.training
    model.eval()
    parts, cache = [tokens], KVCache(len(model.blocks))
    with torch.no_grad():
        while len(parts) <= max_new_tokens:
            logits = model(parts[-1], cache)
            parts.append(torch.argmax(logits[:, -1:], dim=2))
    model.train(mode)
    return torch.cat(parts, dim=1)
