import torch


def attention_entropy(weights):
    """How widely a head looks: the entropy of a row, -sum(p ln p) over the keys, and then the mean over the queries. In nats.

    weights [..., Lq, Lk], `...` any leading dims, also none -> [...]. 0 ln 0 = 0. The weights are taken as they are.
    """
    # 1. The term p ln p of every weight, with 0 and not NaN where p is 0. -> [..., Lq, Lk]
    # 2. Sum over the keys and turn the sign. -> [..., Lq]
    # 3. The mean over the queries. -> [...]
    raise NotImplementedError


def mean_attention_distance(weights):
    """How far a head looks: sum(p * |i - j|) / sum(p), both sums over all queries i and all keys j of one head.

    weights [..., L, L], `...` any leading dims, also none -> [...]. Rows need not sum to 1.
    """
    # 1. How far every query is from every key, in one table for all heads. -> [L, L]
    # 2. Weight the distances, and sum over queries and keys. -> [...]
    # 3. Sum the weights themselves: rows need not sum to 1. -> [...]
    # 4. Divide the one sum by the other. -> [...]
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
    # 1. The mean of the diagonal, and the mean of column 0. -> scalar
    # 2. The sums below and above the diagonal, both without it. -> scalar
    # 3. Ask in the order listed; every limit is strict, and either sum may be 0. -> bool
    # 4. Return the name of the first that holds. -> str
    raise NotImplementedError
