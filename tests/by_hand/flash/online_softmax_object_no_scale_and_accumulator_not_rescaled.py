# mistakes: no-scale, accumulator-not-rescaled
# diagnosis: line elsewhere
"""The online softmax as an object that is fed scores and values."""

import torch


class OnlineSoftmax:
    """Keeps a running maximum, the sum of exps and the weighted sum of the values."""

    def __init__(self, like):
        self.maximum = like.new_full((*like.shape[:-1], 1), float("-inf"))
        self.denominator = like.new_zeros((*like.shape[:-1], 1))
        self.numerator = like.new_zeros(like.shape)

    def feed(self, scores, values):
        largest, _ = scores.max(dim=-1, keepdim=True)
        maximum = torch.maximum(self.maximum, largest)
        weights = torch.exp(scores - maximum)
        factor = torch.exp(self.maximum - maximum)
        self.denominator = self.denominator * factor + weights.sum(dim=-1, keepdim=True)
        self.numerator = self.numerator + torch.matmul(weights, values)  # also wrong
        self.maximum = maximum

    def result(self):
        return self.numerator / self.denominator


def flash_attention(q, k, v, causal=False, block_size=64):
    dtype = q.dtype
    wide = torch.promote_types(dtype, torch.float32)
    q, k, v = (x.to(wide) for x in (q, k, v))
    queries, keys = q.shape[2], k.shape[2]
    softmax = OnlineSoftmax(q)
    for number in range(-(-keys // block_size)):
        start = number * block_size
        block = k.narrow(2, start, min(block_size, keys - start))
        scores = torch.matmul(q, block.transpose(-1, -2))  # first wrong
        if causal:
            distance = torch.arange(queries)[:, None] + (keys - queries) - (start + torch.arange(block.shape[2]))
            scores = scores.masked_fill(distance < 0, float("-inf"))
        softmax.feed(scores, v.narrow(2, start, block.shape[2]))
    return softmax.result().to(dtype)
