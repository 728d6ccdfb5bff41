"""Turn top-p into a smallest probability, as top-k is a smallest logit, and compare unsorted.

The order of the sorted tokens is never needed, so nothing has to be scattered back. Tokens with
exactly the probability of the last kept token are kept too, which only matters for ties.
"""

import torch


def check(temperature, top_k, top_p):
    if temperature < 0:
        raise ValueError("temperature must be at least 0")
    if top_k is not None and top_k <= 0:
        raise ValueError("top_k must be positive")
    if top_p is not None and (top_p <= 0 or top_p > 1):
        raise ValueError("top_p must be in (0, 1]")


def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    check(temperature, top_k, top_p)
    if temperature == 0:
        top = logits.max(dim=-1, keepdim=True).values
        return (logits == top).to(logits.dtype)
    probs = torch.softmax(logits.double() / temperature, dim=-1)
    if top_k is not None and top_k < probs.size(-1):
        kth = torch.topk(probs, top_k).values.amin(-1, keepdim=True)
        probs = probs * (probs >= kth)
        probs = probs / probs.sum(-1, keepdim=True)
    if top_p is not None:
        descending = probs.sort(dim=-1, descending=True).values
        needed = (descending.cumsum(-1) < top_p).sum(-1, keepdim=True)
        smallest = descending.gather(-1, needed.clamp(max=probs.size(-1) - 1))
        probs = probs * (probs >= smallest)
        probs = probs / probs.sum(-1, keepdim=True)
    return probs.to(logits.dtype)
