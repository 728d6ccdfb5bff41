"""Write each part of the block as a function, and the loss as logsumexp minus the target's logit.

The modules only hold weights, so every line of the computation is in one place. The logits of all
targets are gathered before the mean, so no tensor of log-probabilities [B, L, V] is made.
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def attend(x, part, num_heads, p, training):
    queries, keys, values = part["qkv_proj"](x).tensor_split(3, dim=-1)
    split = lambda t: t.unflatten(-1, (num_heads, t.shape[-1] // num_heads)).movedim(-2, 1)
    queries, keys, values = split(queries), split(keys), split(values)
    logits = torch.matmul(queries / math.sqrt(queries.shape[-1]), keys.transpose(2, 3))
    length = x.shape[1]
    visible = torch.ones((length, length), device=x.device).tril() > 0
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

    def forward(self, x):
        a = attend(self.ln_1(x), self.attn, self.num_heads, self.p, self.training)
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

    def forward(self, tokens):
        if tokens.shape[1] > self.limit:
            raise ValueError(f"at most {self.limit} tokens, got {tokens.shape[1]}")
        where = torch.ones_like(tokens).cumsum(1) - 1
        x = F.dropout(self.tok_emb(tokens) + self.pos_emb(where), self.p, self.training)
        x = nn.Sequential(*self.blocks)(x)
        return self.head(self.ln_f(x))


def next_token_loss(logits, tokens):
    scores, wanted = logits[:, :-1].float(), tokens[:, 1:]
    reached = torch.take_along_dim(scores, wanted.unsqueeze(2), dim=2).squeeze(2)
    return (scores.logsumexp(dim=2) - reached).mean()


def train_step(model, optimizer, tokens, max_norm=1.0):
    optimizer.zero_grad()
    loss = next_token_loss(model.train()(tokens), tokens)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm)
    optimizer.step()
    return loss.tolist()


def generate(model, tokens, max_new_tokens):
    if max_new_tokens == 0:
        return tokens.clone()
    training, _ = model.training, model.eval()
    with torch.no_grad():
        logits = model(tokens[:, -model.limit :])
    model.train(training)
    longer = torch.cat([tokens, logits[:, -1:].argmax(2)], dim=1)
    return generate(model, longer, max_new_tokens - 1)
