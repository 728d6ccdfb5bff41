# mistakes: whole-text-fed-with-the-cache
"""Heads folded into the batch by reshape; a step takes two columns of the text."""

import math

import torch
from torch import nn


def fold(t, heads):
    b, n, m = t.shape
    return t.reshape(b, n, heads, m // heads).transpose(1, 2).reshape(b * heads, n, m // heads)


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

    def forward(self, x, past=None):
        b, n, width = x.shape
        q, k, v = fold(self.q_proj(x), self.heads), fold(self.k_proj(x), self.heads), fold(self.v_proj(x), self.heads)
        if past is not None:
            k = torch.cat((past[0].reshape(-1, *past[0].shape[2:]), k), 1)
            v = torch.cat((past[1].reshape(-1, *past[1].shape[2:]), v), 1)
        seen = k.shape[1] - n
        scores = torch.bmm(q, k.transpose(1, 2)).div(math.sqrt(q.shape[2]))
        visible = torch.ones_like(scores, dtype=torch.bool).tril(seen)
        scores = scores.masked_fill(~visible, torch.finfo(scores.dtype).min)
        weights = self.drop(torch.softmax(scores, 2))
        out = torch.bmm(weights, v).reshape(b, self.heads, n, -1).transpose(1, 2).reshape(b, n, width)
        k, v = (t.reshape(b, self.heads, seen + n, -1) for t in (k, v))
        return self.out_proj(out), (k, v)


class Block(nn.Module):
    def __init__(self, width, heads, p):
        super().__init__()
        self.ln_1 = nn.LayerNorm(width)
        self.ln_2 = nn.LayerNorm(width)
        self.attn = Attention(width, heads, p)
        self.mlp = nn.ModuleDict({"fc": nn.Linear(width, 4 * width), "proj": nn.Linear(4 * width, width)})
        self.act, self.drop = nn.GELU(), nn.Dropout(p)

    def forward(self, x, past=None):
        found, present = self.attn(self.ln_1(x), past)
        x = x + self.drop(found)
        inner = self.act(self.mlp["fc"](self.ln_2(x)))
        return x + self.drop(self.mlp["proj"](inner)), present


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
        pasts = cache if cache is not None else [None] * len(self.blocks)
        first = 0 if cache is None else cache[0][1].shape[2]
        rows = torch.arange(self.longest, device=tokens.device)[first : first + tokens.shape[1]]
        if len(rows) < tokens.shape[1]:
            raise ValueError(f"no position is left after {self.longest} tokens")
        x = self.drop(self.tok_emb(tokens) + self.pos_emb(rows))
        presents = []
        for block, past in zip(self.blocks, pasts, strict=True):
            x, present = block(x, past)
            presents.append(present)
        return self.head(self.ln_f(x)), presents


@torch.inference_mode()
def generate(model, tokens, max_new_tokens):
    prompt = tokens.shape[1]
    if prompt + max_new_tokens > model.longest:
        raise ValueError(f"{prompt} + {max_new_tokens} > {model.longest}")
    before = model.training
    model.eval()
    text, cache = tokens, None
    while text.shape[1] < prompt + max_new_tokens:
        fed = text if cache is None else text[:, -2:]  # first wrong
        logits, cache = model(fed, cache)
        best = logits[:, -1].max(dim=1).indices
        text = torch.column_stack((text, best))
    model.train(before)
    return text
