# mistakes: causal-mask-sees-one-ahead
"""No classes for the parts; the triangle begins one diagonal too late."""

import math

import torch
import torch.nn.functional as F
from torch import nn


def attend(x, attn, heads, p, training):
    b, n, m = x.shape
    q, k, v = attn["qkv_proj"](x).view(b, n, 3, heads, m // heads).permute(2, 0, 3, 1, 4)
    scores = q @ k.mT / math.sqrt(m // heads)
    later = torch.ones(n, n, device=x.device, dtype=torch.bool).triu(2)
    scores = scores.masked_fill(later, -math.inf)  # first wrong
    weights = F.dropout(scores.softmax(dim=-1), p, training)
    return attn["o_proj"]((weights @ v).transpose(1, 2).reshape(b, n, m))


def widen(x, mlp):
    return mlp["proj"](F.gelu(mlp["fc"](x), approximate="tanh"))


class MiniGPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, max_seq_len, dropout=0.0):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("num_heads must divide d_model")
        self.heads, self.p, self.size = num_heads, dropout, max_seq_len
        self.tok_emb, self.pos_emb = nn.Embedding(vocab_size, d_model), nn.Embedding(max_seq_len, d_model)
        self.blocks = nn.ModuleList()
        for _ in range(num_layers):
            attn = nn.ModuleDict({"qkv_proj": nn.Linear(d_model, 3 * d_model), "o_proj": nn.Linear(d_model, d_model)})
            mlp = nn.ModuleDict({"fc": nn.Linear(d_model, 4 * d_model), "proj": nn.Linear(4 * d_model, d_model)})
            norms = {"ln_1": nn.LayerNorm(d_model), "ln_2": nn.LayerNorm(d_model)}
            self.blocks.append(nn.ModuleDict({**norms, "attn": attn, "mlp": mlp}))
        self.ln_f = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)
        for module in self.modules():
            if isinstance(module, nn.Linear | nn.Embedding):
                nn.init.normal_(module.weight, 0.0, 0.02)
            if getattr(module, "bias", None) is not None and isinstance(module, nn.Linear):
                nn.init.constant_(module.bias, 0.0)

    def forward(self, tokens):
        n = tokens.shape[-1]
        if n > self.size:
            raise ValueError(f"{n} > {self.size}")
        drop = lambda t: F.dropout(t, self.p, self.training)
        x = drop(self.tok_emb(tokens) + self.pos_emb(torch.arange(n, device=tokens.device)))
        for part in self.blocks:
            x = x + drop(attend(part["ln_1"](x), part["attn"], self.heads, self.p, self.training))
            x = x + drop(widen(part["ln_2"](x), part["mlp"]))
        return self.head(self.ln_f(x))


def next_token_loss(logits, tokens):
    V = logits.shape[-1]
    predicted = logits[:, :-1].reshape(-1, V)
    wanted = tokens[:, 1:].reshape(-1)
    return F.cross_entropy(predicted, wanted)


def train_step(model, optimizer, tokens, max_norm=1.0):
    model.train()
    logits = model(tokens)
    loss = next_token_loss(logits, tokens)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss.item()


def generate(model, tokens, max_new_tokens):
    def extended(text, left):
        if left == 0:
            return text
        last = model(text[:, -model.size :])[:, -1]
        return extended(torch.cat((text, last.argmax(-1, keepdim=True)), 1), left - 1)

    before = model.training
    model.eval()
    with torch.no_grad():
        result = extended(tokens, max_new_tokens)
    model.train(before)
    return result
