# mistakes: keys-and-values-of-update-exchanged
"""A softmax of products and sums; the cache returns a pair whose order is wrong here."""

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


class Mixer(nn.Module):
    def __init__(self, n_embd, n_head, pdrop):
        super().__init__()
        if n_embd % n_head != 0:
            raise ValueError(f"n_embd={n_embd}, n_head={n_head}")
        self.n_head = n_head
        self.query, self.key, self.value = (nn.Linear(n_embd, n_embd) for _ in range(3))
        self.out_proj = nn.Linear(n_embd, n_embd)
        self.pdrop = nn.Dropout(pdrop)

    def split(self, t):
        return torch.stack(t.chunk(self.n_head, dim=-1), dim=1)

    def forward(self, x, place, cache):
        q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
        count = 0
        if cache is not None:
            pair = cache.update(place, k, v)
            v, k = pair  # first wrong
            count = k.size(2) - x.size(1)
        s = torch.matmul(q, k.transpose(2, 3)) / q.size(3) ** 0.5
        rows = torch.arange(count, count + x.size(1), device=x.device)
        allowed = rows.view(-1, 1) >= torch.arange(k.size(2), device=x.device)
        e = torch.exp(s - s.amax(-1, keepdim=True)) * allowed
        a = self.pdrop(e / e.sum(-1, keepdim=True))
        y = torch.cat(torch.matmul(a, v).unbind(1), dim=-1)
        return self.out_proj(y)


class MLP(nn.Module):
    def __init__(self, n_embd):
        super().__init__()
        self.c_fc = nn.Linear(n_embd, 4 * n_embd)
        self.c_proj = nn.Linear(4 * n_embd, n_embd)

    def forward(self, x):
        h = self.c_fc(x)
        return self.c_proj(0.5 * h * (1 + torch.erf(h * 0.5**0.5)))


class Layer(nn.Module):
    def __init__(self, n_embd, n_head, pdrop):
        super().__init__()
        self.ln_1 = nn.LayerNorm(n_embd)
        self.attn = Mixer(n_embd, n_head, pdrop)
        self.ln_2 = nn.LayerNorm(n_embd)
        self.mlp = MLP(n_embd)
        self.resid = nn.Dropout(pdrop)

    def forward(self, x, place, cache):
        z = x + self.resid(self.attn(self.ln_1(x), place, cache))
        return z + self.resid(self.mlp(self.ln_2(z)))


class MiniGPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, max_seq_len, dropout=0.0):
        super().__init__()
        self.block_size = max_seq_len
        self.tok_emb, self.pos_emb = nn.Embedding(vocab_size, d_model), nn.Embedding(max_seq_len, d_model)
        self.embd_drop = nn.Dropout(dropout)
        self.blocks = nn.ModuleList()
        while len(self.blocks) < num_layers:
            self.blocks.append(Layer(d_model, num_heads, dropout))
        self.ln_f, self.head = nn.LayerNorm(d_model), nn.Linear(d_model, vocab_size, bias=False)

    def forward(self, tokens, cache=None):
        done = 0 if cache is None else cache.length
        if done + tokens.size(1) > self.block_size:
            raise ValueError(f"block size {self.block_size} is too small for {done + tokens.size(1)}")
        where = torch.arange(tokens.size(1), device=tokens.device) + done
        x = self.embd_drop(self.tok_emb(tokens) + self.pos_emb(where)[None])
        for place, layer in enumerate(self.blocks):
            x = layer(x, place, cache)
        return self.head(self.ln_f(x))


@torch.no_grad()
def generate(model, tokens, max_new_tokens):
    size = tokens.size(1)
    if size + max_new_tokens > model.block_size:
        raise ValueError(f"{size} and {max_new_tokens} tokens, block size {model.block_size}")
    text = torch.cat((tokens, tokens.new_zeros(len(tokens), max_new_tokens)), dim=1)
    was, _ = model.training, model.eval()
    seen, cache = 0, KVCache(len(model.blocks))
    for here in range(size, size + max_new_tokens):
        logits = model(text[:, seen:here], cache)
        text[:, here] = torch.topk(logits[:, -1], 1).indices[:, 0]
        seen = here
    model.train(was)
    return text
