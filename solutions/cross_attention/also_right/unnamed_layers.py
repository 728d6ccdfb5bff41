"""Keep the layers in a list without names, put the heads on the first axis, and use log_softmax.

The mask becomes a float tensor of the size of the scores, and exp(log_softmax) makes one more
tensor of this size. The names of the layers in a checkpoint tell a reader nothing.
"""

import torch
from torch import nn


class CrossAttention(nn.Module):
    def __init__(self, d_model, num_heads, memory_dim=None, bias=True):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError(f"{d_model} features do not make {num_heads} heads")
        width = d_model if memory_dim is None else memory_dim
        self.layers = nn.ModuleList(nn.Linear(inner, d_model, bias=bias) for inner in (width, width, d_model, d_model))
        self.heads = num_heads
        self.register_buffer("root", torch.tensor(float(d_model // num_heads)).sqrt(), persistent=False)

    def forward(self, x, memory, memory_mask=None):
        content, address, last, first = self.layers
        # [H, B, L, D]
        q = torch.stack(first(x).chunk(self.heads, dim=-1))
        k = torch.stack(address(memory).chunk(self.heads, dim=-1))
        v = torch.stack(content(memory).chunk(self.heads, dim=-1))
        logits = q @ k.transpose(2, 3) / self.root
        if memory_mask is not None:
            logits = logits + torch.zeros_like(logits).masked_fill(~memory_mask.unsqueeze(1), -torch.inf)
        mixed = logits.log_softmax(dim=-1).exp() @ v
        return last(torch.cat(mixed.unbind(dim=0), dim=-1))
