"""Keep the parts of lm without its head, compute the means of all prefixes, and pick one of them.

Padding is on the right, so the real tokens are a prefix, and its mean is one entry of a cumulative
sum. This needs no product with the mask, but the sums of all prefixes are as large as the states.
"""

import torch
from torch import nn


class SequenceClassifier(nn.Module):
    def __init__(self, lm, num_classes):
        super().__init__()
        self.words, self.places, self.drop = lm.tok_emb, lm.pos_emb, lm.drop
        self.body = nn.Sequential(*lm.blocks, lm.ln_f)
        self.head = nn.Linear(lm.tok_emb.weight.size(1), num_classes)

    def forward(self, tokens, padding_mask=None):
        batch, length = tokens.shape
        x = self.words(tokens) + self.places.weight[:length]
        states = self.body(self.drop(x))
        lengths = tokens.new_full((batch,), length)
        if padding_mask is not None:
            lengths = padding_mask.sum(dim=-1)
        rows = torch.arange(batch, device=tokens.device)
        sums = states.cumsum(dim=1)[rows, lengths - 1]
        return self.head(sums / lengths[:, None])
