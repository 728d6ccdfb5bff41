# mistakes: no-scale, least-likely-token
"""Blocks as nn.Sequential, heads stacked from chunks; the last tokens of a sort."""

import torch
import torch.nn as nn
from collections import OrderedDict


class Split(nn.Module):
    def __init__(self, parts):
        super().__init__()
        self.parts = parts

    def forward(self, x):
        return torch.stack(x.chunk(self.parts, -1), dim=-3)


class CausalSoftmax(nn.Module):
    def forward(self, scores):
        ones = torch.ones_like(scores[0, 0])
        ban = (1 - ones.tril()).bool()
        return scores.masked_fill(ban, torch.finfo(scores.dtype).min).softmax(-1)  # first wrong


class SelfAttention(nn.Module):
    def __init__(self, n_features, n_heads, p_drop):
        super().__init__()
        assert n_features % n_heads == 0, "features % heads"
        self.w_q = nn.Linear(n_features, n_features)
        self.w_k = nn.Linear(n_features, n_features)
        self.w_v = nn.Linear(n_features, n_features)
        self.w_o = nn.Linear(n_features, n_features)
        self.split = Split(n_heads)
        self.norm = CausalSoftmax()
        self.drop = nn.Dropout(p_drop)

    def forward(self, x):
        query, key, value = self.split(self.w_q(x)), self.split(self.w_k(x)), self.split(self.w_v(x))
        score = torch.matmul(query, torch.transpose(key, -1, -2))
        attention = self.norm(score)
        attention = self.drop(attention)
        heads = torch.matmul(attention, value).unbind(dim=-3)
        return self.w_o(torch.cat(heads, dim=-1))


def feed_forward(n_features):
    wide = n_features * 4
    return nn.Sequential(
        OrderedDict(
            fc=nn.Linear(n_features, wide),
            gelu=nn.GELU("tanh"),
            proj=nn.Linear(wide, n_features),
        )
    )


class Add(nn.Sequential):
    """A chain of layers whose result is added to its input."""

    def forward(self, x):
        return x + super().forward(x)


def transformer_block(n_features, n_heads, p_drop):
    attention = OrderedDict(
        ln_1=nn.LayerNorm(n_features),
        attn=SelfAttention(n_features, n_heads, p_drop),
        drop=nn.Dropout(p_drop),
    )
    feed = OrderedDict(
        ln_2=nn.LayerNorm(n_features),
        mlp=feed_forward(n_features),
        drop=nn.Dropout(p_drop),
    )
    return nn.Sequential(OrderedDict(a=Add(attention), b=Add(feed)))


class Embeddings(nn.Module):
    def __init__(self, n_vocab, n_positions, n_features, p_drop):
        super().__init__()
        self.tok_emb = nn.Embedding(n_vocab, n_features)
        self.pos_emb = nn.Embedding(n_positions, n_features)
        self.drop = nn.Dropout(p_drop)

    def forward(self, ids):
        n_positions = self.pos_emb.weight.shape[0]
        if ids.shape[1] > n_positions:
            raise ValueError(f"only {n_positions} positions")
        pos = torch.arange(ids.shape[1], device=ids.device)
        return self.drop(self.tok_emb(ids) + self.pos_emb(pos))


class MiniGPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, max_seq_len, dropout=0.0):
        super().__init__()
        self.context = max_seq_len
        self.emb = Embeddings(vocab_size, max_seq_len, d_model, dropout)
        blocks = [transformer_block(d_model, num_heads, dropout) for _ in range(num_layers)]
        self.blocks = nn.Sequential(*blocks)
        self.ln_f = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)

        def init(m):
            if isinstance(m, nn.Embedding):
                m.weight.data = torch.randn_like(m.weight) * 0.02
            elif isinstance(m, nn.Linear):
                m.weight.data = torch.randn_like(m.weight) * 0.02
                if m.bias is not None:
                    m.bias.data = torch.zeros_like(m.bias)

        self.apply(init)

    def forward(self, tokens):
        return self.head(self.ln_f(self.blocks(self.emb(tokens))))


loss_function = nn.CrossEntropyLoss()


def next_token_loss(logits, tokens):
    n = tokens.shape[1]
    p = logits[:, 0 : n - 1].flatten(end_dim=1)
    y = tokens[:, 1:n].flatten()
    return loss_function(p, y)


def train_step(model, optimizer, tokens, max_norm=1.0):
    if not model.training:
        model.train()
    optimizer.zero_grad()
    out = model(tokens)
    loss = next_token_loss(out, tokens)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), max_norm, error_if_nonfinite=True)
    optimizer.step()
    return loss.item()


def generate(model, tokens, max_new_tokens):
    mode = model.training
    model.eval()
    ids = list(tokens.T)
    with torch.inference_mode():
        for _ in range(max_new_tokens):
            window = torch.stack(ids[-model.context :], dim=1)
            out = model(window)[:, -1]
            ranked = torch.argsort(out, dim=-1)
            ids.append(ranked[:, 0])  # also wrong
    model.train(mode)
    return torch.stack(ids, dim=1)
