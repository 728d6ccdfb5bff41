# mistakes: positions-missing
"""The position embeddings got lost when the parts were copied."""

from torch import nn


class SequenceClassifier(nn.Module):
    def __init__(self, lm, num_classes):
        super().__init__()
        self.lm = lm
        self.body = nn.Sequential(lm.drop, *lm.blocks, lm.ln_f)
        self.head = nn.Linear(lm.head.in_features, num_classes)

    def forward(self, tokens, padding_mask=None):
        x = self.lm.tok_emb(tokens)  # first wrong
        h = self.body(x)
        if padding_mask is None:
            return self.head(h.mean(-2))
        real = padding_mask.unsqueeze(2)
        return self.head(h.mul(real).sum(-2).div(real.sum(-2)))
