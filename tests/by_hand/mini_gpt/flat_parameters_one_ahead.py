# mistakes: causal-mask-sees-one-ahead
"""Pure functions of one flat dict of parameters; the model is only a box for the weights."""

import torch
import torch.nn.functional as F
from torch import nn


def dense(params, name, x):
    return F.linear(x, params[name + ".weight"], params.get(name + ".bias"))


def norm(params, name, x):
    return F.layer_norm(x, x.shape[-1:], params[name + ".weight"], params[name + ".bias"])


def embed(params, tokens):
    n = tokens.shape[1]
    words = F.embedding(tokens, params["tok_emb.weight"])
    places = params["pos_emb.weight"][:n]
    return words + places


def attention(params, name, x, n_heads, drop):
    qkv = dense(params, name + ".qkv_proj", x)
    qkv = qkv.unflatten(2, (3, n_heads, -1)).transpose(1, 3)  # [B, H, 3, L, D]
    q, k, v = qkv.unbind(2)
    logits = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
    n = x.shape[1]
    visible = torch.arange(n)[None, :] < torch.arange(n)[:, None] + 2  # first wrong
    logits = logits.masked_fill(~visible.to(x.device), float("-inf"))
    y = drop(torch.softmax(logits, -1)) @ v
    return dense(params, name + ".o_proj", y.transpose(1, 2).flatten(2, 3))


def mlp(params, name, x):
    return dense(params, name + ".proj", F.gelu(dense(params, name + ".fc", x), approximate="tanh"))


def block(params, name, x, n_heads, drop):
    a = attention(params, name + ".attn", norm(params, name + ".ln_1", x), n_heads, drop)
    x = x + drop(a)
    m = mlp(params, name + ".mlp", norm(params, name + ".ln_2", x))
    return x + drop(m)


def gpt(params, tokens, n_layers, n_heads, drop):
    x = drop(embed(params, tokens))
    for i in range(n_layers):
        x = block(params, f"blocks.{i}", x, n_heads, drop)
    return dense(params, "head", norm(params, "ln_f", x))


def box(**children):
    m = nn.Module()
    for name, child in children.items():
        m.add_module(name, child)
    return m


class MiniGPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, max_seq_len, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("heads")
        self.num_heads, self.num_layers = num_heads, num_layers
        self.max_seq_len, self.rate = max_seq_len, dropout
        m = d_model
        self.tok_emb = nn.Embedding(vocab_size, m)
        self.pos_emb = nn.Embedding(max_seq_len, m)
        self.blocks = nn.ModuleList(
            box(
                ln_1=nn.LayerNorm(m),
                attn=box(qkv_proj=nn.Linear(m, 3 * m), o_proj=nn.Linear(m, m)),
                ln_2=nn.LayerNorm(m),
                mlp=box(fc=nn.Linear(m, 4 * m), proj=nn.Linear(4 * m, m)),
            )
            for _ in range(num_layers)
        )
        self.ln_f = nn.LayerNorm(m)
        self.head = nn.Linear(m, vocab_size, bias=False)
        with torch.no_grad():
            for p in self.parameters():
                if p.ndim > 1:
                    p.normal_(0.0, 0.02)
            for part in self.modules():
                if type(part) is nn.Linear and part.bias is not None:
                    part.bias.zero_()

    def forward(self, tokens):
        if tokens.shape[1] > self.max_seq_len:
            raise ValueError(f"too long: {tokens.shape[1]}")
        drop = lambda x: F.dropout(x, self.rate, self.training)
        params = dict(self.named_parameters())
        return gpt(params, tokens, self.num_layers, self.num_heads, drop)


def next_token_loss(logits, tokens):
    scores = logits[:, :-1].flatten(0, 1)
    wanted = tokens[:, 1:].flatten()
    picked = scores[torch.arange(len(wanted)), wanted]
    return (torch.logsumexp(scores, 1) - picked).mean()


def train_step(model, optimizer, tokens, max_norm=1.0):
    model.train()
    params = list(model.parameters())
    loss = next_token_loss(model(tokens), tokens)
    grads = torch.autograd.grad(loss, params)
    total = torch.sqrt(sum((g**2).sum() for g in grads))
    factor = (max_norm / (total + 1e-6)).clamp(max=1.0)
    for p, g in zip(params, grads):
        p.grad = g * factor
    optimizer.step()
    return float(loss.detach())


@torch.no_grad()
def generate(model, tokens, max_new_tokens):
    before = model.training
    model.train(False)
    b, n = tokens.shape
    text = torch.empty(b, n + max_new_tokens, dtype=tokens.dtype, device=tokens.device)
    text[:, :n] = tokens
    for end in range(n, n + max_new_tokens):
        context = text[:, max(end - model.max_seq_len, 0) : end]
        text[:, end] = model(context)[:, -1].argmax(-1)
    model.train(before)
    return text
