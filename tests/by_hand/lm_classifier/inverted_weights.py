# mistakes: mask-inverted
"""Weights of 1 for padding, as a key_padding_mask has them."""

import torch
from torch import nn


class SequenceClassifier(nn.Module):
    def __init__(self, lm, num_classes):
        super().__init__()
        self.lm, self.head = lm, nn.Linear(lm.pos_emb.weight.shape[1], num_classes)

    def states(self, tokens):
        x = self.lm.tok_emb(tokens) + self.lm.pos_emb.weight[: tokens.shape[1]]
        x = self.lm.drop(x)
        for layer in self.lm.blocks:
            x = layer(x)
        return self.lm.ln_f(x)

    def forward(self, tokens, padding_mask=None):
        h = self.states(tokens)
        if padding_mask is None:
            return self.head(torch.mean(h, dim=1))
        kept = h.masked_fill(padding_mask[..., None], 0)  # first wrong
        return self.head(kept.sum(1) / (~padding_mask).sum(1)[:, None])
