# mistakes: last-block-missing, padding-in-the-sum
"""The last block is cut off, as in some embedding models, and the sum has no mask."""

import torch
from torch import nn


class SequenceClassifier(nn.Module):
    def __init__(self, lm, num_classes):
        super().__init__()
        self.lm = lm
        self.head = nn.Linear(lm.ln_f.normalized_shape[0], num_classes)

    def forward(self, tokens, padding_mask=None):
        where = torch.ones_like(tokens).cumsum(1) - 1
        x = self.lm.drop(self.lm.tok_emb(tokens) + self.lm.pos_emb(where))
        for index in range(len(self.lm.blocks) - 1):
            x = self.lm.blocks[index](x)
        states = self.lm.ln_f(x)  # first wrong
        if padding_mask is None:
            return self.head(states.mean(1))
        count = padding_mask.sum(1, keepdim=True)
        return self.head(states.sum(1) / count)  # also wrong
