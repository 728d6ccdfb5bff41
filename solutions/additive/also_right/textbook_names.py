"""Name the layers W_q, W_k and w_v, add a float32 mask to the scores, and store the weights.

The stored weights keep their memory and their graph until the next call. In half precision, the
float32 scores take twice the memory; float64 inputs lose accuracy.
"""

import torch
from torch import nn


def masked_softmax(scores: torch.Tensor, mask: torch.Tensor | None) -> torch.Tensor:
    logits = scores.float()
    if mask is not None:
        bias = torch.zeros(mask.shape, device=mask.device).masked_fill_(mask.logical_not(), torch.finfo(torch.float32).min)
        logits = logits + bias
    return torch.softmax(logits, dim=-1).type_as(scores)


class AdditiveAttention(nn.Module):
    def __init__(self, query_dim: int, key_dim: int, hidden_dim: int, dropout: float = 0.0, **kwargs) -> None:
        super().__init__(**kwargs)
        self.W_k = nn.Linear(key_dim, hidden_dim, bias=False)
        self.W_q = nn.Linear(query_dim, hidden_dim, bias=False)
        self.w_v = nn.Linear(hidden_dim, 1, bias=False)
        self.dropout = nn.Dropout(dropout)
        self.attention_weights = None

    def forward(self, query, keys, values, mask=None):
        queries, keys = self.W_q(query), self.W_k(keys)
        features = queries.unsqueeze(2) + keys.unsqueeze(1)
        features = torch.tanh(features)
        scores = self.w_v(features).squeeze(-1)
        self.attention_weights = masked_softmax(scores, mask)
        return torch.bmm(self.dropout(self.attention_weights), values), self.attention_weights
