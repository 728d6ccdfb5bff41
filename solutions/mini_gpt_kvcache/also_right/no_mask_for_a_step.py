"""Write each branch as a function, use no mask for a single token, and generate by recursion.

A decode step needs no mask at all, which saves an operation on all scores. The new tokens and the
cache go on as arguments, but Python's limit of 1000 calls bounds the length.
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


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


def attend(x, update, part, num_heads, p, training):
    queries, keys, values = part["qkv_proj"](x).tensor_split(3, dim=-1)
    split = lambda t: t.unflatten(-1, (num_heads, t.shape[-1] // num_heads)).movedim(-2, 1)
    queries, keys, values = split(queries), split(keys), split(values)
    if update is not None:
        keys, values = update(keys, values)
    logits = torch.matmul(queries / math.sqrt(queries.shape[-1]), keys.transpose(2, 3))
    if x.shape[1] > 1:  # a single new token sees everything
        visible = torch.ones(logits.shape[-2:], device=x.device)
        visible = visible.tril(keys.shape[2] - x.shape[1]) > 0
        logits = logits.masked_fill(visible.logical_not(), -1e9)
    shares = torch.exp(logits - logits.logsumexp(-1, keepdim=True))
    mixed = torch.matmul(F.dropout(shares, p, training), values)
    return part["o_proj"](mixed.movedim(1, -2).flatten(-2))


def transform(x, part):
    h = part["fc"](x)
    inner = math.sqrt(2 / math.pi) * (h + 0.044715 * h**3)
    return part["proj"](0.5 * h * (1 + torch.tanh(inner)))


class Block(nn.Module):
    def __init__(self, d_model, num_heads, dropout):
        super().__init__()
        assert d_model % num_heads == 0
        self.num_heads, self.p = num_heads, dropout
        self.ln_1 = nn.LayerNorm(d_model)
        self.attn = nn.ModuleDict(
            {"qkv_proj": nn.Linear(d_model, 3 * d_model), "o_proj": nn.Linear(d_model, d_model)}
        )
        self.ln_2 = nn.LayerNorm(d_model)
        self.mlp = nn.ModuleDict(
            {"fc": nn.Linear(d_model, 4 * d_model), "proj": nn.Linear(4 * d_model, d_model)}
        )

    def forward(self, x, update):
        a = attend(self.ln_1(x), update, self.attn, self.num_heads, self.p, self.training)
        x = x + F.dropout(a, self.p, self.training)
        return x + F.dropout(transform(self.ln_2(x), self.mlp), self.p, self.training)


class MiniGPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, max_seq_len, dropout=0.0):
        super().__init__()
        self.limit, self.p = max_seq_len, dropout
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(max_seq_len, d_model)
        self.blocks = nn.ModuleList(Block(d_model, num_heads, dropout) for _ in range(num_layers))
        self.ln_f = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        for part in self.modules():
            for name, value in part.named_parameters(recurse=False):
                if isinstance(part, nn.LayerNorm):
                    continue
                if name == "bias":
                    nn.init.constant_(value, 0.0)
                else:
                    nn.init.normal_(value, 0.0, 0.02)

    def forward(self, tokens, cache=None):
        done = 0 if cache is None else cache.length
        if done + tokens.shape[1] > self.limit:
            raise ValueError(f"at most {self.limit} tokens, got {done + tokens.shape[1]}")
        where = torch.ones_like(tokens).cumsum(1) - 1 + done
        x = F.dropout(self.tok_emb(tokens) + self.pos_emb(where), self.p, self.training)
        for number, block in enumerate(self.blocks):
            x = block(x, None if cache is None else lambda k, v: cache.update(number, k, v))
        return self.head(self.ln_f(x))


def continued(model, tokens, fed, cache, count):
    if count == 0:
        return tokens
    logits = model(fed, cache)
    new = logits[:, -1:].argmax(2)
    return continued(model, torch.cat([tokens, new], dim=1), new, cache, count - 1)


def generate(model, tokens, max_new_tokens):
    if tokens.shape[1] + max_new_tokens > model.limit:
        raise ValueError(f"{tokens.shape[1]} + {max_new_tokens} tokens exceed {model.limit}")
    training, _ = model.training, model.eval()
    with torch.no_grad():
        result = continued(model, tokens, tokens, KVCache(len(model.blocks)), max_new_tokens)
    model.train(training)
    return result
