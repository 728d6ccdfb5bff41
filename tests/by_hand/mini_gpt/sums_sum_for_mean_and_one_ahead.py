# mistakes: sum-for-mean, causal-mask-sees-one-ahead
"""Norm, softmax and cross entropy written out as sums."""

import math
import torch
from torch import nn


class LayerNorm(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.n = n
        self.weight = nn.Parameter(torch.ones(n))
        self.bias = nn.Parameter(torch.zeros(n))

    def forward(self, x):
        mu = x.sum(-1, keepdim=True) / self.n
        var = ((x - mu) ** 2).sum(-1, keepdim=True) / self.n
        return (x - mu) / (var + 1e-5).sqrt() * self.weight + self.bias


class Attention(nn.Module):
    def __init__(self, n, heads, p):
        super().__init__()
        if n // heads * heads != n:
            raise ValueError("n must be a multiple of heads")
        self.heads = heads
        self.qkv = nn.Linear(n, 3 * n)
        self.output = nn.Linear(n, n)
        self.p = nn.Dropout(p)

    def forward(self, x):
        batch, length, n = x.shape
        size = n // self.heads
        qkv = self.qkv(x).view(batch, length, 3 * self.heads, size).transpose(1, 2)
        q = qkv[:, : self.heads]
        k = qkv[:, self.heads : 2 * self.heads]
        v = qkv[:, 2 * self.heads :]
        score = q @ k.transpose(2, 3) / math.sqrt(size)
        # softmax over the keys that can be seen
        see = torch.ones(length, length, dtype=x.dtype, device=x.device).tril(1)  # first wrong
        top = score.detach().amax(-1, keepdim=True)
        e = torch.exp(score - top) * see
        prob = e / e.sum(-1, keepdim=True)
        out = self.p(prob) @ v
        return self.output(out.transpose(1, 2).reshape(batch, length, n))


class MLP(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.fc, self.proj = nn.Linear(n, 4 * n), nn.Linear(4 * n, n)

    def forward(self, x):
        x = self.fc(x)
        x = x * torch.distributions.Normal(0.0, 1.0).cdf(x)
        return self.proj(x)


class Block(nn.Module):
    def __init__(self, n, heads, p):
        super().__init__()
        self.ln_1, self.attn = LayerNorm(n), Attention(n, heads, p)
        self.ln_2, self.mlp = LayerNorm(n), MLP(n)
        self.p = nn.Dropout(p)

    def forward(self, x):
        y = self.ln_1(x)
        y = self.attn(y)
        x = x + self.p(y)
        y = self.ln_2(x)
        y = self.mlp(y)
        x = x + self.p(y)
        return x


class MiniGPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, max_seq_len, dropout=0.0):
        super().__init__()
        self.limit = max_seq_len
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(max_seq_len, d_model)
        self.p = nn.Dropout(dropout)
        self.blocks = nn.ModuleList([])
        while len(self.blocks) < num_layers:
            self.blocks.append(Block(d_model, num_heads, dropout))
        self.ln_f = LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        layers = [m for m in self.modules() if hasattr(m, "weight") and not isinstance(m, LayerNorm)]
        for layer in layers:
            torch.nn.init.normal_(layer.weight, 0, 0.02)
            if getattr(layer, "bias", None) is not None:
                torch.nn.init.zeros_(layer.bias)

    def forward(self, tokens):
        length = tokens.shape[1]
        if length > self.limit:
            raise ValueError("at most " + str(self.limit) + " tokens")
        places = torch.arange(length, device=tokens.device).repeat(tokens.shape[0], 1)
        x = self.tok_emb(tokens)
        x = x + self.pos_emb(places)
        x = self.p(x)
        for b in self.blocks:
            x = b(x)
        x = self.ln_f(x)
        x = self.head(x)
        return x


def next_token_loss(logits, tokens):
    logits = logits[:, :-1]
    right = tokens[:, 1:].unsqueeze(-1)
    logits = logits - logits.amax(-1, keepdim=True)
    log_z = logits.exp().sum(-1).log()
    score = logits.gather(-1, right).squeeze(-1)
    return (log_z - score).sum()  # also wrong


def train_step(model, optimizer, tokens, max_norm=1.0):
    model.train()
    for p in model.parameters():
        p.grad = None
    loss = next_token_loss(model(tokens), tokens)
    loss.backward()
    square = 0.0
    for p in model.parameters():
        square += p.grad.pow(2).sum().item()
    norm = math.sqrt(square)
    if norm > max_norm:
        for p in model.parameters():
            p.grad /= norm / max_norm
    optimizer.step()
    return loss.item()


def generate(model, tokens, max_new_tokens):
    training = model.training
    model.train(False)
    with torch.no_grad():
        goal = tokens.shape[1] + max_new_tokens
        while tokens.shape[1] != goal:
            seen = tokens[:, -model.limit :]
            p = torch.softmax(model(seen)[:, -1], dim=-1)
            _, new = torch.max(p, dim=-1)
            tokens = torch.cat([tokens, new.reshape(-1, 1)], dim=1)
    model.train(training)
    return tokens
