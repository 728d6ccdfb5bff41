"""Split the forward pass of MiniGPT into a method for the states and the head, and call the method.

No line of the model stands twice, and both uses of it stay the same if it changes. It needs an edit
of the model's class, which other files may use too.
"""

import math

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, d_model, num_heads, dropout):
        super().__init__()
        self.num_heads = num_heads
        self.ln_1 = nn.LayerNorm(d_model)
        self.qkv_proj = nn.Linear(d_model, 3 * d_model)
        self.o_proj = nn.Linear(d_model, d_model)
        self.ln_2 = nn.LayerNorm(d_model)
        self.fc = nn.Linear(d_model, 4 * d_model)
        self.proj = nn.Linear(4 * d_model, d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        batch, length, width = x.shape
        qkv = self.qkv_proj(self.ln_1(x)).view(batch, length, 3, self.num_heads, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        later = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        weights = self.drop(scores.masked_fill(later, float("-inf")).softmax(dim=-1))
        merged = (weights @ v).transpose(1, 2).reshape(batch, length, width)
        x = x + self.drop(self.o_proj(merged))
        return x + self.drop(self.proj(F.gelu(self.fc(self.ln_2(x)))))


class MiniGPT(nn.Module):
    def __init__(self, vocab_size, d_model, num_heads, num_layers, max_seq_len, dropout=0.0):
        super().__init__()
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(max_seq_len, d_model)
        self.drop = nn.Dropout(dropout)
        self.blocks = nn.ModuleList(
            Block(d_model, num_heads, dropout) for _ in range(num_layers)
        )
        self.ln_f = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)

    def states(self, tokens):
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.drop(self.tok_emb(tokens) + self.pos_emb(positions))
        for block in self.blocks:
            x = block(x)
        return self.ln_f(x)

    def forward(self, tokens):
        return self.head(self.states(tokens))


class SequenceClassifier(nn.Module):
    def __init__(self, lm: MiniGPT, num_classes: int):
        super().__init__()
        self.lm = lm
        self.head = nn.Linear(lm.head.in_features, num_classes)

    def forward(self, tokens, padding_mask=None):
        states = self.lm.states(tokens)
        if padding_mask is None:
            padding_mask = torch.ones(tokens.shape, dtype=torch.bool, device=tokens.device)
        total = torch.where(padding_mask[..., None], states, 0.0).sum(-2)
        return self.head(total / padding_mask.sum(-1)[:, None])
