# mistakes: distance-rows-taken-as-normalised
"""Functions inside functions: of one row first, of a head then."""

import torch
from torch.special import entr


def attention_entropy(weights):
    def of_row(p):
        return entr(p).sum(-1)

    def over_queries(values):
        return values.sum(-1) / weights.size(-2)

    return over_queries(of_row(weights))


def mean_attention_distance(weights):
    length = weights.size(-1)
    keys = torch.arange(length, device=weights.device)

    def steps():
        queries = keys.unsqueeze(-1)
        return torch.maximum(queries - keys, keys - queries)

    def of_rows(p):
        return torch.sum(p * steps(), dim=-1)

    def of_head(rows):
        return rows.sum(dim=-1) / length  # first wrong

    return of_head(of_rows(weights))


def classify_head(weights):
    def mean(entries):
        return float(entries.double().mean())

    def total(entries):
        return float(entries.double().sum())

    def direction():
        back, ahead = total(weights.tril(-1)), total(weights.triu(1))
        if back > ahead + ahead:
            return "backward"
        if ahead > back + back:
            return "forward"
        return "mixed"

    if mean(weights.diagonal()) > 0.5:
        return "positional"
    return "global" if mean(weights[:, 0]) > 0.3 else direction()
