# mistakes: last-real-token
"""The head of lm is an identity; with a mask, the last real token is taken, as in GPT."""

import torch
from torch import nn


class SequenceClassifier(nn.Module):
    def __init__(self, lm, num_classes):
        super().__init__()
        width = lm.head.weight.size(1)
        lm.head = nn.Identity()
        self.backbone = lm
        self.head = nn.Linear(width, num_classes)

    def forward(self, tokens, padding_mask=None):
        hidden = self.backbone(tokens)
        if padding_mask is None:
            return self.head(hidden.mean(1))
        last = padding_mask.long().sum(1).sub(1)
        index = last.view(-1, 1, 1).expand(-1, 1, hidden.size(2))
        return self.head(hidden.gather(1, index).squeeze(1))  # first wrong
