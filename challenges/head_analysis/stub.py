import torch


def attention_entropy(weights):
    """How widely a head looks: the entropy of a row, -sum(p ln p) over the keys, and then the mean over the queries. In nats.

    weights [..., Lq, Lk], `...` any leading dims, also none -> [...]. 0 ln 0 = 0. The weights are taken as they are.
    """
    raise NotImplementedError


def mean_attention_distance(weights):
    """How far a head looks: sum(p * |i - j|) / sum(p), both sums over all queries i and all keys j of one head.

    weights [..., L, L], `...` any leading dims, also none -> [...]. Rows need not sum to 1.
    """
    raise NotImplementedError


def classify_head(weights):
    """Where a head looks: the first of these that holds.

    "positional"  the mean of the diagonal is > 0.5
    "global"      the mean of column 0 is > 0.3
    "backward"    the sum below the diagonal is > 2 times the sum above it
    "forward"     the sum above the diagonal is > 2 times the sum below it
    "mixed"       none of them

    weights [L, L], queries by keys -> str.
    """
    raise NotImplementedError
