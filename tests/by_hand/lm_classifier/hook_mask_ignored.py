# mistakes: padding-in-the-sum
"""A hook on ln_f, and a sum over all tokens that is divided by the real ones."""

import torch
import torch.nn as nn


class SequenceClassifier(nn.Module):
    def __init__(self, lm, num_classes):
        super().__init__()
        self.lm = lm
        self.features = None
        lm.ln_f.register_forward_hook(self.keep)
        self.head = nn.Linear(lm.ln_f.normalized_shape[0], num_classes)

    def keep(self, module, inputs, output):
        self.features = output

    def forward(self, tokens, padding_mask=None):
        self.lm(tokens)
        if padding_mask is None:
            padding_mask = torch.ones_like(tokens, dtype=torch.bool)
        lengths = padding_mask.sum(1, keepdim=True)
        mean = torch.einsum("blm->bm", self.features) / lengths  # first wrong
        return self.head(mean)
