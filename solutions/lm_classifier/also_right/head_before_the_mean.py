"""Apply the head to every state, and take the mean of the logits of the classes.

The head is linear, so both orders give the same result. This shows the logits of each token, which
explain a decision, but the head runs L times instead of once.
"""

import torch
import torch.nn as nn


class SequenceClassifier(nn.Module):
    def __init__(self, lm, num_classes):
        super().__init__()
        self.lm = lm
        self.head = nn.Linear(lm.ln_f.normalized_shape[0], num_classes)

    def states(self, tokens):
        place = torch.arange(tokens.size(1), device=tokens.device)
        x = self.lm.drop(self.lm.tok_emb(tokens) + self.lm.pos_emb(place))
        for block in self.lm.blocks:
            x = block(x)
        return self.lm.ln_f(x)

    def forward(self, tokens, padding_mask=None):
        scores = self.head(self.states(tokens))
        if padding_mask is None:
            return scores.mean(-2)
        share = padding_mask.to(scores.dtype)
        share = share / share.sum(-1, keepdim=True)
        return (share[:, None, :] @ scores).squeeze(1)
