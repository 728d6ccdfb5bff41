# mistakes: cache-overwritten
"""The list of the caller holds the slots of all blocks; the loop fills them again."""

import torch
from torch import nn
from torch.nn.functional import gelu


class SelfAttention(nn.Module):
    def __init__(self, dim, heads, drop):
        super().__init__()
        if dim % heads > 0:
            raise ValueError(f"dim {dim} and heads {heads} do not match")
        self.heads = heads
        self.q_proj = nn.Linear(dim, dim)
        self.k_proj = nn.Linear(dim, dim)
        self.v_proj = nn.Linear(dim, dim)
        self.o_proj = nn.Linear(dim, dim)
        self.drop = nn.Dropout(drop)

    def forward(self, x, slot):
        b, n, dim = x.shape
        shape = (b, n, self.heads, dim // self.heads)
        q = self.q_proj(x).view(shape).permute(0, 2, 1, 3)
        k = self.k_proj(x).view(shape).permute(0, 2, 1, 3)
        v = self.v_proj(x).view(shape).permute(0, 2, 1, 3)
        if slot:
            k = torch.cat([slot[0], k], dim=2)
            v = torch.cat([slot[1], v], dim=2)
        index = torch.arange(k.shape[2], device=x.device)
        keep = index[None, :] <= index[-n:, None]
        logits = torch.einsum("bhid,bhjd->bhij", q, k).mul(shape[-1] ** -0.5)
        logits = logits.masked_fill(keep.logical_not(), float("-inf"))
        probs = (logits - logits.logsumexp(-1, keepdim=True)).exp()
        out = torch.einsum("bhij,bhjd->bihd", self.drop(probs), v)
        return self.o_proj(out.reshape(b, n, dim)), (k, v)


class FeedForward(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.fc = nn.Linear(dim, dim * 4)
        self.proj = nn.Linear(dim * 4, dim)

    def forward(self, x):
        return self.proj(gelu(self.fc(x)))


class Block(nn.Module):
    def __init__(self, dim, heads, drop):
        super().__init__()
        self.ln_1 = nn.LayerNorm(dim)
        self.attn = SelfAttention(dim, heads, drop)
        self.ln_2 = nn.LayerNorm(dim)
        self.mlp = FeedForward(dim)
        self.drop_1, self.drop_2 = nn.Dropout(drop), nn.Dropout(drop)

    def forward(self, x, slot):
        out, slot = self.attn(self.ln_1(x), slot)
        x = x + self.drop_1(out)
        x = x + self.drop_2(self.mlp(self.ln_2(x)))
        return x, slot


class MiniGPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, max_seq_len, dropout=0.0):
        super().__init__()
        self.context = max_seq_len
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(max_seq_len, d_model)
        self.drop = nn.Dropout(dropout)
        self.blocks = nn.ModuleList([Block(d_model, num_heads, dropout) for _ in range(num_layers)])
        self.ln_f = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)

    def forward(self, tokens, cache=None):
        if cache is None:
            cache = [()] * len(self.blocks)
        start = cache[0][0].shape[2] if cache[0] else 0
        stop = start + tokens.shape[1]
        if stop > self.context:
            raise ValueError(f"{stop} > {self.context}")
        x = self.tok_emb(tokens)
        x = self.drop(x + self.pos_emb.weight[start:stop])
        for i, block in enumerate(self.blocks):
            x, cache[i] = block(x, cache[i])  # first wrong
        return self.head(self.ln_f(x)), cache.copy()


def generate(model, tokens, max_new_tokens):
    if tokens.shape[1] + max_new_tokens > model.context:
        raise ValueError(f"{tokens.shape[1]} + {max_new_tokens} > {model.context}")
    was_training = model.training
    model.eval()
    fed, cache, columns = tokens, None, [tokens]
    with torch.no_grad():
        for _ in range(max_new_tokens):
            logits, cache = model(fed, cache)
            fed = logits[:, -1].max(dim=-1, keepdim=True).indices
            columns.append(fed)
    model.train(was_training)
    return torch.hstack(columns)
