# mistakes: count-off-by-one
"""Everything in one method; the guard against a division by 0 is a number that is added."""

import torch
from torch import nn


class SequenceClassifier(nn.Module):
    def __init__(self, lm, num_classes):
        super().__init__()
        self.lm = lm
        self.head = nn.Linear(lm.ln_f.weight.numel(), num_classes)

    def forward(self, tokens, padding_mask=None):
        n = tokens.size(1)
        h = self.lm.drop(self.lm.tok_emb(tokens) + self.lm.pos_emb(torch.arange(n)))
        for block in self.lm.blocks:
            h = block(h)
        h = self.lm.ln_f(h)
        if padding_mask is None:
            return self.head(h.mean(1))
        m = padding_mask.view(-1, n, 1).type_as(h)
        pooled = (h * m).sum(1) / (m.sum(1) + 1)  # first wrong
        return self.head(pooled)
