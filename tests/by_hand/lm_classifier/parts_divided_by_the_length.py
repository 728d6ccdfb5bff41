# mistakes: divided-by-the-length
"""The parts of lm in turn; the padding is set to 0 and averaged."""

import torch
from torch import nn


class SequenceClassifier(nn.Module):
    def __init__(self, lm, num_classes):
        super().__init__()
        self.lm = lm
        self.head = nn.Linear(lm.head.in_features, num_classes)

    def forward(self, tokens, padding_mask=None):
        place = torch.arange(tokens.shape[1], device=tokens.device)
        h = self.lm.drop(self.lm.tok_emb(tokens) + self.lm.pos_emb(place))
        for block in self.lm.blocks:
            h = block(h)
        h = self.lm.ln_f(h)
        if padding_mask is not None:
            h = h.masked_fill(~padding_mask.unsqueeze(-1), 0.0)
        pooled = h.mean(dim=1)  # first wrong
        return self.head(pooled)
