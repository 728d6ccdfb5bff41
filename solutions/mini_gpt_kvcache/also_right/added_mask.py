"""Add a mask of 0 and -inf, made once for all blocks, and preallocate the tensor of all tokens.

One mask serves all blocks, so each call makes it once, from the length before the first block. The
tensor for all tokens is allocated once, but the caller cannot stop early.
"""

import contextlib
import functools
from math import sqrt

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


def causal_bias(new, total, like):
    bias = torch.full((new, total), float("-inf"), dtype=like.dtype, device=like.device)
    return bias.triu(diagonal=total - new + 1)


def kept_apart(k, v):
    return k, v


class Heads(nn.Module):
    def __init__(self, width, count, p):
        super().__init__()
        if width % count != 0:
            raise ValueError(f"width {width} cannot be split into {count} heads")
        self.count = count
        self.qkv = nn.Linear(width, 3 * width)
        self.to_out = nn.Sequential(nn.Linear(width, width), nn.Dropout(p))
        self.p = p

    def forward(self, x, bias, remember):
        b, n, m = x.shape
        q, k, v = self.qkv(x).reshape(b, n, 3, self.count, m // self.count).permute(2, 0, 3, 1, 4)
        k, v = remember(k, v)
        s = q @ k.mT / sqrt(m // self.count) + bias
        w = nn.functional.dropout(s.softmax(dim=-1), self.p, self.training)
        return self.to_out((w @ v).permute(0, 2, 1, 3).reshape(b, n, m))


class Expand(nn.Module):
    def __init__(self, width, p):
        super().__init__()
        self.fc = nn.Linear(width, 4 * width)
        self.proj = nn.Linear(4 * width, width)
        self.drop = nn.Dropout(p)

    def forward(self, x):
        return self.drop(self.proj(gelu(self.fc(x))))


class GPTBlock(nn.Module):
    def __init__(self, width, count, p):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.ln_2 = nn.LayerNorm(width)
        self.attn = Heads(width, count, p)
        self.mlp = Expand(width, p)

    def forward(self, x, bias, remember):
        y = x + self.attn(self.ln_1(x), bias, remember)
        return y + self.mlp(self.ln_2(y))


class MiniGPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, max_seq_len, dropout=0.0):
        super().__init__()
        self.max_seq_len = max_seq_len
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(max_seq_len, d_model)
        self.emb_drop = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(
            GPTBlock(d_model, num_heads, dropout) for _ in range(num_layers)
        )
        self.ln_f = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        for layer in self.modules():
            if isinstance(layer, nn.Embedding):
                layer.weight.data.normal_(0, 0.02)
            elif isinstance(layer, nn.Linear):
                layer.weight.data.normal_(0, 0.02)
                if layer.bias is not None:
                    layer.bias.data.fill_(0)

    def forward(self, tokens, cache=None):
        old = cache.length if cache else 0
        n = tokens.shape[-1]
        if old + n > self.max_seq_len:
            raise ValueError(f"{old} + {n} > {self.max_seq_len}")
        places = old + torch.arange(n, device=tokens.device).expand_as(tokens)
        x = self.emb_drop(self.tok_emb(tokens) + self.pos_emb(places))
        bias = causal_bias(n, old + n, x)
        for i, block in enumerate(self.blocks):
            x = block(x, bias, functools.partial(cache.update, i) if cache else kept_apart)
        return self.head(self.ln_f(x))


@contextlib.contextmanager
def evaluating(model):
    mode = model.training
    model.train(False)
    with torch.no_grad():
        yield
    model.train(mode)


def generate(model, tokens, max_new_tokens):
    batch, length = tokens.shape
    if length + max_new_tokens > model.max_seq_len:
        raise ValueError(f"{length} + {max_new_tokens} > {model.max_seq_len}")
    filled = tokens.new_zeros(batch, length + max_new_tokens)
    filled[:, :length] = tokens
    cache, start = KVCache(len(model.blocks)), 0
    with evaluating(model):
        for end in range(length, length + max_new_tokens):
            logits = model(filled[:, start:end], cache)
            filled[:, end] = logits[:, -1].argmax(-1)
            start = end
    return filled
