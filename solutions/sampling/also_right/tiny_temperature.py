"""Replace temperature 0 by a tiny number, with the largest logit of each row moved to 0.

The function has only one path, so both filters also run for greedy decoding. The trick fails if two
logits are nearly equal: both would get a probability.
"""

import torch

TINY = 1e-12


def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    if temperature < 0:
        raise ValueError("a temperature is not negative")
    if top_k is not None and top_k < 1:
        raise ValueError("top_k counts tokens, from 1")
    if top_p is not None and not 0.0 < top_p <= 1.0:
        raise ValueError("top_p is a probability above 0")
    x = logits.to(torch.float64)
    x = (x - x.amax(-1, keepdim=True)) / max(temperature, TINY)
    if top_k is not None:
        keep = torch.topk(x, min(top_k, x.shape[-1]), sorted=False).indices
        x = torch.full_like(x, -torch.inf).scatter(-1, keep, x.gather(-1, keep))
    if top_p is not None:
        y, where = x.sort(dim=-1, descending=True, stable=True)
        after = y.softmax(-1).flip(-1).cumsum(-1).flip(-1)  # of the token and all less likely ones
        y = y.masked_fill(after <= 1 - top_p - 1e-9, -torch.inf)
        x = torch.empty_like(x).scatter_(-1, where, y)
    return torch.softmax(x, dim=-1).to(logits.dtype)
