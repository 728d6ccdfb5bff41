# mistakes: mask-one-too-wide
"""Every block gets a view of its layer in the cache; the triangle begins a column too late."""

import torch
from torch import Tensor, nn


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


class LayerView:
    def __init__(self, cache: KVCache | None, layer: int):
        self.cache, self.layer = cache, layer

    def grown(self, keys: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
        if self.cache is None:
            return keys, values
        return self.cache.update(self.layer, keys, values)


class Attention(nn.Module):
    def __init__(self, size, heads, rate):
        super().__init__()
        self.heads, rest = heads, size % heads
        if rest:
            raise ValueError(f"a rest of {rest} features for {heads} heads")
        self.qkv_proj = nn.Linear(size, size * 3)
        self.o_proj = nn.Linear(size, size)
        self.weights_drop = nn.Dropout(rate)

    def forward(self, x: Tensor, view: LayerView) -> Tensor:
        per_head = self.qkv_proj(x).unflatten(2, (3, self.heads, -1))
        query, key, value = per_head.transpose(1, 3).unbind(2)  # [B, H, L, D]
        keys, values = view.grown(key, value)
        energy = torch.einsum("bhqd,bhkd->bhqk", query, keys) * query.size(-1) ** -0.5
        begin = keys.size(2) - x.size(1)
        later = torch.ones_like(energy, dtype=torch.bool).triu(begin + 2)  # first wrong
        energy = energy.masked_fill(later, -torch.inf)
        share = self.weights_drop(nn.functional.softmax(energy, dim=-1))
        mixed = torch.einsum("bhqk,bhkd->bqhd", share, values)
        return self.o_proj(mixed.reshape(x.shape))


class Wide(nn.Module):
    def __init__(self, size):
        super().__init__()
        self.fc = nn.Linear(size, size * 4)
        self.proj = nn.Linear(size * 4, size)

    def forward(self, x):
        return self.proj(nn.functional.gelu(self.fc(x), approximate="tanh"))


class Block(nn.Module):
    def __init__(self, size, heads, rate):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(size), nn.LayerNorm(size)
        self.attn, self.mlp = Attention(size, heads, rate), Wide(size)
        self.drop = nn.Dropout(rate)

    def forward(self, x, view):
        change = self.attn(self.ln_1(x), view)
        x = x + self.drop(change)
        change = self.mlp(self.ln_2(x))
        return x + self.drop(change)


class MiniGPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, max_seq_len, dropout=0.0):
        super().__init__()
        self.max_seq_len = max_seq_len
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(max_seq_len, d_model)
        self.drop = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(Block(d_model, num_heads, dropout) for _ in range(num_layers))
        self.ln_f = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)

    def forward(self, tokens: Tensor, cache: KVCache | None = None):
        begin = 0 if cache is None else cache.length
        end = begin + tokens.size(1)
        if not end <= self.max_seq_len:
            raise ValueError(f"the last position would be {end - 1}")
        x = self.tok_emb(tokens) + self.pos_emb(torch.arange(begin, end, device=tokens.device))
        x = self.drop(x)
        for i, block in enumerate(self.blocks):
            x = block(x, LayerView(cache, i))
        return self.head(self.ln_f(x))


def steps(model, fed, count):
    cache = KVCache(len(model.blocks))
    for _ in range(count):
        logits = model(fed, cache)
        fed = logits[:, -1:].argmax(dim=-1)
        yield fed


def generate(model, tokens, max_new_tokens):
    if tokens.size(1) + max_new_tokens > model.max_seq_len:
        raise ValueError(f"only {model.max_seq_len - tokens.size(1)} more tokens fit")
    training = model.training
    with torch.no_grad():
        model.eval()
        text = torch.cat([tokens, *steps(model, tokens, max_new_tokens)], dim=1)
    model.train(training)
    return text
