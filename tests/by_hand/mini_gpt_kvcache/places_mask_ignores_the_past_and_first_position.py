# mistakes: mask-ignores-the-past, logits-of-the-first-position
"""Places of queries and keys counted with cumsum; the row of the first token gives the new token."""

from functools import partial

import torch
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


def places(like, axis):
    return torch.ones_like(like, dtype=torch.int64).cumsum(axis) - 1


class Attention(nn.Module):
    def __init__(self, width, heads, p):
        super().__init__()
        if width % heads != 0:
            raise ValueError(f"width {width}, heads {heads}")
        self.heads, self.scale = heads, (width / heads) ** 0.5
        self.qkv_proj = nn.Linear(width, 3 * width)
        self.o_proj = nn.Linear(width, width)
        self.drop = nn.Dropout(p)

    def forward(self, x, remember):
        triple = self.qkv_proj(x).unflatten(-1, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        q, *new = triple.unbind(0)
        k, v = remember(*new)
        scores = torch.matmul(q, k.mT).div(self.scale)
        later = places(scores, -1) > places(scores, -2)
        scores = scores.masked_fill(later, float("-inf"))  # first wrong
        weights = self.drop(scores.softmax(-1))
        return self.o_proj(torch.matmul(weights, v).transpose(1, 2).flatten(-2))


class Expand(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.fc, self.proj = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        return self.proj(nn.functional.gelu(self.fc(x), approximate="tanh"))


class Layer(nn.Module):
    def __init__(self, width, heads, p):
        super().__init__()
        self.ln_1, self.attn = nn.LayerNorm(width), Attention(width, heads, p)
        self.ln_2, self.mlp = nn.LayerNorm(width), Expand(width)
        self.drop = nn.Dropout(p)

    def forward(self, x, remember):
        x = x + self.drop(self.attn(self.ln_1(x), remember))
        return x + self.drop(self.mlp(self.ln_2(x)))


class MiniGPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, max_seq_len, dropout=0.0):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(max_seq_len, d_model)
        self.drop = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(Layer(d_model, num_heads, dropout) for _ in range(num_layers))
        self.ln_f = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)

    def check(self, count):
        most = len(self.pos_emb.weight)
        if count > most:
            raise ValueError(f"{count} tokens, but at most {most}")

    def forward(self, tokens, cache=None):
        before = 0 if cache is None else cache.length
        self.check(before + tokens.shape[1])
        x = self.drop(self.tok_emb(tokens) + self.pos_emb(before + places(tokens, 1)))
        for number, layer in enumerate(self.blocks):
            x = layer(x, (lambda k, v: (k, v)) if cache is None else partial(cache.update, number))
        return self.head(self.ln_f(x))


@torch.inference_mode()
def generate(model, tokens, max_new_tokens):
    model.check(tokens.shape[1] + max_new_tokens)
    was = model.training
    model.train(False)
    text, cache = [tokens], KVCache(len(model.blocks))
    for _ in range(max_new_tokens):
        logits = model(text[-1], cache)
        text.append(logits.select(1, 0).argmax(1)[:, None])  # also wrong
    model.train(was)
    return torch.cat(text, 1)
