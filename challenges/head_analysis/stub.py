import torch


def attention_entropy(weights):
    """Return the entropy of each row, -sum(p ln p) over the keys, averaged over the queries.

    The entropy is in nats, and 0 ln 0 = 0. The weights are used as they are.
    weights [..., Lq, Lk], `...` any leading dims, or none -> [...].
    """
    # 1. Compute p ln p of every weight; it is 0, not NaN, if p is 0. -> [..., Lq, Lk]
    # 2. Sum over the keys and change the sign. -> [..., Lq]
    # 3. Take the mean over the queries. -> [...]
    raise NotImplementedError


def mean_attention_distance(weights):
    """Return sum(p * |i - j|) / sum(p) for each head, over all queries i and all keys j.

    Rows need not sum to 1.
    weights [..., L, L], `...` any leading dims, or none -> [...].
    """
    # 1. Compute the distance of every query from every key, once for all heads. -> [L, L]
    # 2. Multiply distances and weights, and sum over queries and keys. -> [...]
    # 3. Sum the weights: rows need not sum to 1. -> [...]
    # 4. Divide the first sum by the second. -> [...]
    raise NotImplementedError


def classify_head(weights):
    """Return the first of these kinds whose condition holds.

    "positional"  the mean of the diagonal is > 0.5
    "global"      the mean of column 0 is > 0.3
    "backward"    the sum below the diagonal is > 2 times the sum above it
    "forward"     the sum above the diagonal is > 2 times the sum below it
    "mixed"       none of them

    weights [L, L], queries by keys -> str.
    """
    # 1. Compute the mean of the diagonal, and the mean of column 0. -> scalar
    # 2. Compute the sums below and above the diagonal, without the diagonal. -> scalar
    # 3. Test in this order; every limit is strict, and each sum may be 0. -> bool
    # 4. Return the first kind whose condition holds. -> str
    raise NotImplementedError
