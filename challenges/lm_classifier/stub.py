import math

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    """A block of GPT-2, given: x + attention, then x + MLP, both pre-norm. Leave it as it is."""

    def __init__(self, d_model, num_heads, dropout):
        super().__init__()
        self.num_heads = num_heads
        # The attention: all of q, then k, then v in one layer. -> Linear(M, 3M), Linear(M, M)
        self.ln_1 = nn.LayerNorm(d_model)
        self.qkv_proj = nn.Linear(d_model, 3 * d_model)
        self.o_proj = nn.Linear(d_model, d_model)
        self.ln_2 = nn.LayerNorm(d_model)
        # The MLP. -> Linear(M, 4M), Linear(4M, M)
        self.fc = nn.Linear(d_model, 4 * d_model)
        self.proj = nn.Linear(4 * d_model, d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        """Return [B, L, M] of x [B, L, M]. A token sees itself and earlier tokens."""
        batch, length, width = x.shape
        # Causal attention, which adds its result to x. -> [B, L, M]
        qkv = self.qkv_proj(self.ln_1(x)).view(batch, length, 3, self.num_heads, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        later = torch.ones(length, length, dtype=torch.bool, device=x.device).triu(1)
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])
        weights = self.drop(scores.masked_fill(later, float("-inf")).softmax(dim=-1))
        merged = (weights @ v).transpose(1, 2).reshape(batch, length, width)
        x = x + self.drop(self.o_proj(merged))
        # The MLP, which adds its result, too. -> [B, L, M]
        return x + self.drop(self.proj(F.gelu(self.fc(self.ln_2(x)))))


class MiniGPT(nn.Module):
    """A language model, given. SequenceClassifier gets an object of this class."""

    def __init__(self, vocab_size, d_model, num_heads, num_layers, max_seq_len, dropout=0.0):
        super().__init__()
        # The embeddings and their dropout. -> Embedding(V, M), Embedding(max_seq_len, M)
        self.tok_emb = nn.Embedding(vocab_size, d_model)
        self.pos_emb = nn.Embedding(max_seq_len, d_model)
        self.drop = nn.Dropout(dropout)
        blocks = [Block(d_model, num_heads, dropout) for _ in range(num_layers)]
        self.blocks = nn.Sequential(*blocks)
        # The last norm and the head. -> LayerNorm(M), Linear(M, V)
        self.ln_f = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, vocab_size, bias=False)

    def forward(self, tokens):
        """Return the logits [B, L, V] of tokens int64 [B, L]."""
        # The states. -> [B, L, M]
        positions = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.drop(self.tok_emb(tokens) + self.pos_emb(positions))
        x = self.blocks(x)
        # The states after the last norm, then the logits. -> [B, L, V]
        return self.head(self.ln_f(x))


class SequenceClassifier(nn.Module):
    """A classifier of sequences: the mean of the states of lm, then a linear layer.

    B batch, L length, M width of lm, C num_classes.
    Layers: lm and head Linear(M, C) with a bias.
    """

    def __init__(self, lm, num_classes):
        super().__init__()
        # 1. Keep lm, and find the width of its states. -> int
        # 2. Make the head of the classes. -> Linear(M, C)
        raise NotImplementedError

    def forward(self, tokens, padding_mask=None):
        """Return the logits of the classes [B, C].

        tokens int64 [B, L], padding_mask bool [B, L], True = a real token; padding is on the right.
        """
        # 1. Compute the states of lm after ln_f, before the head of lm. -> [B, L, M]
        # 2. Without a mask, take their mean over the tokens. -> [B, M]
        # 3. With a mask, sum the states of the real tokens. -> [B, M]
        # 4. Divide by the number of real tokens of each sequence. -> [B, M]
        # 5. Apply the head of the classes. -> [B, C]
        raise NotImplementedError
