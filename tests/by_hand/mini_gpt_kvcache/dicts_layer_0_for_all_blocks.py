# mistakes: one-layer-for-all-blocks
"""Dicts of layers and methods of the model; the number of the layer is fixed before the loop."""

import math
from functools import partial

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


class MiniGPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, max_seq_len, dropout=0.0):
        super().__init__()
        self.per_head, rest = divmod(d_model, num_heads)
        if rest:
            raise ValueError(f"{num_heads} heads need a multiple of {num_heads}, got {d_model}")
        self.num_heads, self.max_seq_len, self.rate = num_heads, max_seq_len, dropout
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(max_seq_len, d_model)
        self.blocks = nn.ModuleList(self.new_block(d_model) for _ in range(num_layers))
        self.ln_f = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)

    @staticmethod
    def new_block(m):
        attn = {"qkv_proj": nn.Linear(m, 3 * m), "o_proj": nn.Linear(m, m)}
        mlp = {"fc": nn.Linear(m, 4 * m), "proj": nn.Linear(4 * m, m)}
        parts = {"ln_1": nn.LayerNorm(m), "attn": nn.ModuleDict(attn)}
        parts |= {"ln_2": nn.LayerNorm(m), "mlp": nn.ModuleDict(mlp)}
        return nn.ModuleDict(parts)

    def drop(self, x):
        return F.dropout(x, self.rate, self.training)

    def attend(self, layer, x, cached, update):
        b, n, m = x.shape
        qkv = layer["qkv_proj"](x).reshape(b, n, 3 * self.num_heads, self.per_head)
        q, k, v = qkv.transpose(1, 2).split(self.num_heads, dim=1)
        if update is not None:
            k, v = update(k, v)  # first wrong
        scores = (q / math.sqrt(self.per_head)) @ k.transpose(-1, -2)
        future = scores.new_ones(n, cached + n).triu(cached + 1).bool()
        scores = scores.masked_fill(future, -math.inf)
        weights = self.drop(torch.softmax(scores, dim=-1))
        return layer["o_proj"]((weights @ v).transpose(1, 2).reshape(b, n, m))

    def forward(self, tokens, cache=None):
        update, cached, layer = None, 0, 0
        if cache is not None:
            cached = cache.length
            update = partial(cache.update, layer)
        n = tokens.shape[1]
        if cached + n > self.max_seq_len:
            raise ValueError(f"{cached + n} positions, only {self.max_seq_len} exist")
        x = self.tok_emb(tokens) + self.pos_emb.weight.narrow(0, cached, n)
        x = self.drop(x)
        for block in self.blocks:
            x = x + self.drop(self.attend(block["attn"], block["ln_1"](x), cached, update))
            inner = F.gelu(block["mlp"]["fc"](block["ln_2"](x)))
            x = x + self.drop(block["mlp"]["proj"](inner))
        return self.head(self.ln_f(x))


def generate(model, tokens, max_new_tokens):
    wanted = tokens.shape[1] + max_new_tokens
    if wanted > model.max_seq_len:
        raise ValueError(f"{wanted} tokens do not fit into {model.max_seq_len} positions")
    mode = model.training
    model.train(False)
    try:
        with torch.no_grad():
            fed, cache = tokens, KVCache(len(model.blocks))
            while tokens.shape[1] < wanted:
                logits = model(fed, cache)
                fed = torch.argmax(logits[:, -1], dim=-1).unsqueeze(1)
                tokens = torch.cat([tokens, fed], dim=1)
    finally:
        model.train(mode)
    return tokens
