"""Three measures of an attention head: the entropy, the distance and the kind.

    entropy  = mean_i( -sum_j p_ij ln p_ij )        distance = sum_ij p_ij |i - j| / sum_ij p_ij

Entropy 0 means one key for each query, ln Lk means equal weights. Kinds of heads as in Clark et al.
2019, "What Does BERT Look At?", and Voita et al. 2019, "Analyzing Multi-Head Self-Attention".
"""

import torch


def attention_entropy(weights):
    """weights [..., Lq, Lk] -> [...], in nats."""
    # xlogy(0, 0) is 0, but p * log(p) would be 0 * -inf = NaN
    terms = torch.xlogy(weights, weights)  # [..., Lq, Lk]
    of_queries = -terms.sum(dim=-1)  # [..., Lq]
    return of_queries.mean(dim=-1)  # [...]


def mean_attention_distance(weights):
    """weights [..., L, L] -> [...], in positions."""
    length = weights.shape[-1]
    position = torch.arange(length, device=weights.device)  # [L]
    distance = (position[:, None] - position[None, :]).abs()  # [L, L]
    moved = (weights * distance).sum(dim=(-2, -1))  # [...]
    # rows need not sum to 1, so the total is not L
    total = weights.sum(dim=(-2, -1))  # [...]
    return moved / total


def classify_head(weights):
    """weights [L, L] -> "positional", "global", "backward", "forward" or "mixed"."""
    on_itself = weights.diagonal().mean()
    on_first_key = weights[:, 0].mean()
    # tril() and triu() would keep the diagonal, which is neither past nor future
    below = weights.tril(-1).sum()
    above = weights.triu(1).sum()

    if on_itself > 0.5:
        return "positional"
    if on_first_key > 0.3:
        return "global"
    # products, not quotients: each sum may be 0
    if below > 2 * above:
        return "backward"
    if above > 2 * below:
        return "forward"
    return "mixed"
