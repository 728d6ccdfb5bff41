# mistakes: clipped-by-value
# diagnosis: line elsewhere
"""Residual wrappers around attention and feed-forward, with to_q, to_kv and to_out."""

from functools import partial

import torch
from torch import nn


class FeedForward(nn.Sequential):
    def __init__(self, dim, mult=4, dropout=0.0):
        super().__init__()
        inner = dim * mult
        self.add_module("fc", nn.Linear(dim, inner))
        self.add_module("act", nn.GELU())
        self.add_module("proj", nn.Linear(inner, dim))
        self.add_module("drop", nn.Dropout(dropout))


class Attention(nn.Module):
    def __init__(self, dim, heads=8, dropout=0.0):
        super().__init__()
        if dim % heads != 0:
            raise ValueError("dim must be divisible by heads")
        dim_head = dim // heads
        self.heads = heads
        self.scale = dim_head**-0.5
        self.to_q = nn.Linear(dim, dim)
        self.to_kv = nn.Linear(dim, dim * 2)
        self.attend = nn.Sequential(nn.Softmax(dim=-1), nn.Dropout(dropout))
        self.to_out = nn.Sequential(nn.Linear(dim, dim), nn.Dropout(dropout))

    def forward(self, x):
        b, n, _ = x.shape
        q, k, v = self.to_q(x), *self.to_kv(x).chunk(2, dim=-1)
        q, k, v = map(lambda t: t.reshape(b, n, self.heads, -1).transpose(1, 2), (q, k, v))
        q = q * self.scale

        dots = torch.einsum("b h i d, b h j d -> b h i j", q, k)
        causal_mask = torch.ones(dots.shape[-2:], device=x.device, dtype=torch.bool).triu(1)
        dots = dots.masked_fill(causal_mask, -torch.finfo(dots.dtype).max)

        out = torch.einsum("b h i j, b h j d -> b h i d", self.attend(dots), v)
        return self.to_out(out.transpose(1, 2).flatten(-2))


class Residual(nn.Module):
    """x + fn(norm(x)), with the names that the outside wants."""

    def __init__(self, dim, norm_name, fn_name, fn):
        super().__init__()
        self.add_module(norm_name, nn.LayerNorm(dim))
        self.add_module(fn_name, fn)

    def forward(self, x):
        norm, fn = self.children()
        return fn(norm(x)) + x


class MiniGPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, max_seq_len, dropout=0.0):
        super().__init__()
        dim = d_model
        attention = partial(Attention, dim, heads=num_heads, dropout=dropout)
        feedforward = partial(FeedForward, dim, dropout=dropout)
        self.max_seq_len = max_seq_len
        self.tok_emb = nn.Embedding(vocab_size, dim)
        self.pos_emb = nn.Embedding(max_seq_len, dim)
        self.emb_dropout = nn.Dropout(dropout)
        self.blocks = nn.ModuleList([])
        for _ in range(num_layers):
            self.blocks.append(
                nn.ModuleDict(
                    {
                        "first": Residual(dim, "ln_1", "attn", attention()),
                        "second": Residual(dim, "ln_2", "mlp", feedforward()),
                    }
                )
            )
        self.ln_f = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, vocab_size, bias=False)
        self.apply(self.init_)

    @staticmethod
    @torch.no_grad()
    def init_(m):
        if type(m) in (nn.Linear, nn.Embedding):
            m.weight.copy_(torch.empty_like(m.weight).normal_(std=0.02))
        if type(m) is nn.Linear and m.bias is not None:
            m.bias.fill_(0.0)

    def forward(self, tokens):
        n, device = tokens.shape[1], tokens.device
        if n > self.max_seq_len:
            raise ValueError(f"sequence length {n} exceeds {self.max_seq_len}")
        x = self.tok_emb(tokens)
        x = x + self.pos_emb(torch.arange(n, device=device))[None]
        x = self.emb_dropout(x)
        for layer in self.blocks:
            x = layer["first"](x)
            x = layer["second"](x)
        return self.head(self.ln_f(x))


def next_token_loss(logits, tokens):
    inp, labels = logits[:, :-1], tokens[:, 1:]
    return nn.functional.cross_entropy(inp.transpose(1, 2), labels)


def train_step(model, optimizer, tokens, max_norm=1.0):
    model.train()
    loss = next_token_loss(model(tokens), tokens)
    optimizer.zero_grad()
    loss.backward()
    for p in model.parameters():
        if p.grad is not None:
            p.grad.clamp_(min=-max_norm, max=max_norm)  # first wrong
    optimizer.step()
    return loss.item()


def eval_decorator(fn):
    def inner(model, *args, **kwargs):
        was_training = model.training
        model.eval()
        out = fn(model, *args, **kwargs)
        model.train(was_training)
        return out

    return inner


@torch.no_grad()
@eval_decorator
def generate(model, tokens, max_new_tokens):
    out = tokens
    for _ in range(max_new_tokens):
        x = out[:, -model.max_seq_len :]
        logits = model(x)[:, -1]
        sample = logits.argmax(dim=-1, keepdim=True)
        out = torch.cat((out, sample), dim=-1)
    return out
