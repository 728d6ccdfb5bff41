# mistakes: no-shift
# diagnosis: line elsewhere
"""Every product is an einsum, also those with the weights; the loss takes one-hot targets."""

from math import sqrt

import torch
from torch import einsum, nn


def apply_linear(layer, x):
    y = einsum("...i,oi->...o", x, layer.weight)
    return y if layer.bias is None else y + layer.bias


def gelu(x):
    return x * (1 + torch.erf(x / sqrt(2))) / 2


class Attn(nn.Module):
    def __init__(self, M, H, p):
        super().__init__()
        self.H, self.D = H, M // H
        self.qkv_proj = nn.Linear(M, 3 * M)
        self.o_proj = nn.Linear(M, M)
        self.p = p

    def forward(self, x):
        L = x.size(1)
        W = self.qkv_proj.weight.view(3, self.H, self.D, -1)
        b = self.qkv_proj.bias.view(3, 1, self.H, 1, self.D)
        q, k, v = einsum("blm,shdm->sbhld", x, W) + b
        s = einsum("bhqd,bhkd->bhqk", q, k) / sqrt(self.D)
        i, j = torch.meshgrid(torch.arange(L), torch.arange(L), indexing="ij")
        s[:, :, i < j] = -torch.inf
        a = nn.functional.dropout(s.softmax(-1), self.p, self.training)
        y = einsum("bhqk,bhkd->bqhd", a, v)
        # the output projection, as the sum over heads
        Wo = self.o_proj.weight.view(-1, self.H, self.D)
        return einsum("bqhd,mhd->bqm", y, Wo) + self.o_proj.bias


class FFN(nn.Module):
    def __init__(self, M):
        super().__init__()
        self.fc = nn.Linear(M, 4 * M)
        self.proj = nn.Linear(4 * M, M)

    def forward(self, x):
        return apply_linear(self.proj, gelu(apply_linear(self.fc, x)))


class Block(nn.Module):
    def __init__(self, M, H, p):
        super().__init__()
        self.ln_1 = nn.LayerNorm(M)
        self.attn = Attn(M, H, p)
        self.drop1 = nn.Dropout(p)
        self.ln_2 = nn.LayerNorm(M)
        self.mlp = FFN(M)
        self.drop2 = nn.Dropout(p)

    def forward(self, x):
        x = x + self.drop1(self.attn(self.ln_1(x)))
        x = x + self.drop2(self.mlp(self.ln_2(x)))
        return x


class MiniGPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, max_seq_len, dropout=0.0):
        if d_model % num_heads > 0:
            raise ValueError(f"cannot split {d_model} into {num_heads}")
        super().__init__()
        V, M, H, T = vocab_size, d_model, num_heads, max_seq_len
        self.tok_emb = nn.Embedding(V, M)
        self.pos_emb = nn.Embedding(T, M)
        self.drop0 = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(Block(M, H, dropout) for _ in range(num_layers))
        self.ln_f = nn.LayerNorm(M)
        self.head = nn.Linear(M, V, bias=False)
        self.T = T
        for name, w in self.named_parameters():
            if "ln_" in name:
                continue
            if name.endswith(".weight"):
                nn.init.normal_(w, std=0.02)
            else:
                nn.init.zeros_(w)

    def forward(self, tokens):
        B, L = tokens.shape
        if L > self.T:
            raise ValueError(f"L = {L} but T = {self.T}")
        x = self.drop0(self.tok_emb.weight[tokens] + self.pos_emb.weight[None, :L])
        for b in self.blocks:
            x = b(x)
        return apply_linear(self.head, self.ln_f(x))


def next_token_loss(logits, tokens):
    V = logits.size(-1)
    logp = torch.log_softmax(logits, dim=-1)
    onehot = nn.functional.one_hot(tokens, V).to(logp.dtype)
    nll = -einsum("blv,blv->bl", logp, onehot)  # first wrong
    return nll.mean()


def train_step(model, optimizer, tokens, max_norm=1.0):
    model.train()
    optimizer.zero_grad()
    loss = next_token_loss(model(tokens), tokens)
    loss.backward()
    grads = [w.grad for w in model.parameters()]
    norm = torch.sqrt(sum(einsum("i,i->", g.flatten(), g.flatten()) for g in grads))
    if norm > max_norm:
        for g in grads:
            g *= max_norm / norm
    optimizer.step()
    return loss.item()


def generate(model, tokens, max_new_tokens):
    training = model.training
    model.eval()
    for _ in range(max_new_tokens):
        with torch.no_grad():
            logits = model(tokens[:, -model.T :])[:, -1, :]
        tokens = torch.cat([tokens, logits.argmax(-1).view(-1, 1)], dim=-1)
    model.train(training)
    return tokens
