# mistakes: states-before-ln-f, sum-instead-of-mean
"""The norm is forgotten, and so is the division."""

import torch
from torch import nn


class SequenceClassifier(nn.Module):
    def __init__(self, lm, num_classes):
        super().__init__()
        self.lm = lm
        self.head = nn.Linear(lm.head.in_features, num_classes)

    def forward(self, tokens, padding_mask=None):
        positions = torch.arange(tokens.size(1), device=tokens.device)
        hidden = self.lm.drop(self.lm.tok_emb(tokens) + self.lm.pos_emb(positions))
        for block in self.lm.blocks:
            hidden = block(hidden)
        if padding_mask is None:
            pooled = hidden.mean(dim=1)  # first wrong
        else:
            pooled = (hidden * padding_mask[..., None]).sum(dim=1)  # also wrong
        return self.head(pooled)
