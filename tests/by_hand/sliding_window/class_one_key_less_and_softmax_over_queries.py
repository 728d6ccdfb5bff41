# mistakes: mask-one-key-too-few, softmax-over-queries
"""A small class holds the band; the function calls it."""

import torch


class Band:
    def __init__(self, length, width):
        self.length = length
        self.width = width

    def closed(self, device):
        i = torch.arange(self.length, device=device).unsqueeze(1)
        j = torch.arange(self.length, device=device).unsqueeze(0)
        oldest = i - max(self.width - 2, 0)  # first wrong
        return (j < oldest) | (j > i)


def sliding_window_attention(q, k, v, window):
    scores = torch.matmul(q, k.transpose(-1, -2)) * (1.0 / q.shape[-1] ** 0.5)
    scores = scores.masked_fill(Band(q.shape[-2], window).closed(q.device), float("-inf"))
    attention = torch.nn.functional.softmax(scores, dim=2)  # also wrong
    return torch.matmul(attention, v)
