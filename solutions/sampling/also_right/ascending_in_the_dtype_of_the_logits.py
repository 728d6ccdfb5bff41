"""Sort the smallest first, compare with 1 - top_p, and stay in the dtype of the logits.

This is the form of the Hugging Face library. The last token of a row is always kept, because
1 - top_p may round to 1. In bfloat16, the sums have only 8 significant bits, so rounding may decide
on tokens at the border; a cast to float32 costs little next to the sort.
"""

import torch


def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature < 0 or (top_k is not None and top_k < 1):
        raise ValueError("temperature must be 0 or more, and top_k 1 or more")
    if top_p is not None and (top_p <= 0 or top_p > 1):
        raise ValueError("top_p must lie in (0, 1]")
    if temperature == 0:
        return torch.nn.functional.one_hot(logits.argmax(-1), logits.shape[-1]).to(logits.dtype)
    scores = logits / temperature
    if top_k is not None:
        smallest = scores.topk(min(top_k, scores.shape[-1])).values[:, -1:]
        scores = scores.masked_fill(scores < smallest, -torch.inf)
    if top_p is not None:
        rising, places = scores.sort(descending=False)
        removed = rising.softmax(-1).cumsum(-1) <= 1 - top_p
        removed[:, -1:] = False
        scores = scores.masked_fill(removed.scatter(1, places, removed), -torch.inf)
    return scores.softmax(-1)
