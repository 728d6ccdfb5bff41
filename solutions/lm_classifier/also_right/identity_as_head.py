"""Replace the head of lm by an identity, so that lm itself returns its states.

This takes one line in the constructor and no work for logits. But it changes the caller's lm, which
gives no logits afterwards and loses a weight that a checkpoint may still need.
"""

from torch import nn


class SequenceClassifier(nn.Module):
    def __init__(self, lm, num_classes):
        super().__init__()
        width = lm.pos_emb.embedding_dim
        lm.head = nn.Identity()
        self.backbone = lm
        self.head = nn.Linear(width, num_classes)

    def forward(self, tokens, padding_mask=None):
        states = self.backbone(tokens)
        if padding_mask is None:
            return self.head(states.mean(1))
        hidden = padding_mask.logical_not().unsqueeze(-1)
        total = states.masked_fill(hidden, 0).sum(1)
        return self.head(total / padding_mask.sum(1, keepdim=True))
