# mistakes: entropy-averaged-over-keys, diagonal-summed
# diagnosis: not named
"""The kinds as a list of rules, each a name and a small function; float32 inside the measures."""

import torch

RULES = [
    ("positional", lambda w: torch.trace(w) > 0.5),  # also wrong
    ("global", lambda w: torch.mean(w[:, 0]) > 0.3),
    ("backward", lambda w: w.tril(-1).sum() > 2 * w.triu(1).sum()),
    ("forward", lambda w: w.triu(1).sum() > 2 * w.tril(-1).sum()),
    ("mixed", lambda w: True),
]


def at_least_float32(weights):
    return weights.to(torch.promote_types(weights.dtype, torch.float32))


def attention_entropy(weights):
    p = at_least_float32(weights)
    logs = torch.log(p.where(p > 0, 1.0))
    return (p * logs).mean(dim=(-2, -1)).neg().to(weights.dtype)  # first wrong


def mean_attention_distance(weights):
    p = at_least_float32(weights)
    at = torch.arange(p.shape[-1], dtype=p.dtype, device=p.device)
    apart = torch.abs(torch.sub(at[:, None], at))
    return torch.div(torch.mul(p, apart).sum(dim=(-2, -1)), p.sum(dim=(-2, -1))).to(weights.dtype)


def classify_head(weights):
    head = weights.double()
    for kind, holds in RULES:
        if holds(head):
            return kind
