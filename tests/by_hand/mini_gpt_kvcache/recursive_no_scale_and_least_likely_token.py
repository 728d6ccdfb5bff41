# mistakes: no-scale, least-likely-token
"""Products without a scale; a recursive generation sorts the logits in the wrong order."""

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


class Attn(nn.Module):
    def __init__(self, m, h, p):
        super().__init__()
        if m != h * (m // h):
            raise ValueError(f"{h} heads of {m // h} features are not {m} features")
        self.split = lambda t: t.unflatten(-1, (h, m // h)).transpose(1, 2)
        self.q_proj, self.k_proj = nn.Linear(m, m), nn.Linear(m, m)
        self.v_proj, self.o_proj = nn.Linear(m, m), nn.Linear(m, m)
        self.drop = nn.Dropout(p)

    def forward(self, x, layer, cache):
        queries = self.split(self.q_proj(x))
        keys, values = self.split(self.k_proj(x)), self.split(self.v_proj(x))
        keys, values = (keys, values) if cache is None else cache.update(layer, keys, values)
        dots = torch.einsum("...qd,...kd->...qk", queries, keys)
        earlier = keys.shape[2] - x.shape[1]
        seen = torch.ones(dots.shape[2:], device=x.device, dtype=torch.bool).tril(earlier)
        dots = dots.where(seen, dots.new_tensor(float("-inf")))
        parts = self.drop(F.softmax(dots, dim=3))  # first wrong
        return self.o_proj(torch.einsum("bhqk,bhkd->bqhd", parts, values).flatten(2))


class Mlp(nn.Module):
    def __init__(self, m):
        super().__init__()
        self.fc = nn.Linear(m, 4 * m)
        self.proj = nn.Linear(4 * m, m)

    def forward(self, x):
        return self.proj(F.gelu(self.fc(x)))


class Block(nn.Module):
    def __init__(self, m, h, p):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(m), nn.LayerNorm(m)
        self.attn, self.mlp, self.drop = Attn(m, h, p), Mlp(m), nn.Dropout(p)

    def forward(self, x, layer, cache):
        x = x + self.drop(self.attn(self.ln_1(x), layer, cache))
        return x + self.drop(self.mlp(self.ln_2(x)))


class MiniGPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, max_seq_len, dropout=0.0):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(max_seq_len, d_model)
        self.drop = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(Block(d_model, num_heads, dropout) for _ in range(num_layers))
        self.ln_f = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)

    def forward(self, tokens, cache=None):
        begin = 0 if cache is None else cache.length
        if begin + tokens.shape[1] > self.pos_emb.num_embeddings:
            raise ValueError(f"{begin} + {tokens.shape[1]} > {self.pos_emb.num_embeddings}")
        places = self.pos_emb.weight[begin : begin + tokens.shape[1]]
        x, layer = self.drop(self.tok_emb(tokens) + places), 0
        while layer < len(self.blocks):
            x = self.blocks[layer](x, layer, cache)
            layer += 1
        return self.head(self.ln_f(x))


def new_columns(model, fed, cache, count):
    if count == 0:
        return []
    logits = model(fed, cache)
    column = logits[:, -1].argsort(dim=1)[:, :1]  # also wrong
    return [column, *new_columns(model, column, cache, count - 1)]


def generate(model, tokens, max_new_tokens):
    if tokens.shape[1] + max_new_tokens > model.pos_emb.num_embeddings:
        raise ValueError("the text becomes too long")
    mode = model.training
    with torch.no_grad():
        columns = new_columns(model.eval(), tokens, KVCache(len(model.blocks)), max_new_tokens)
    model.train(mode)
    return torch.cat([tokens, *columns], dim=1)
