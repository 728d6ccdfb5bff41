"""Compare all pairs of tokens instead of sorting: the rank and the mass above each token.

No sort and no scatter is needed, and each line says what a filter means. The pairs take V * V
entries for each row, far too many for a real vocabulary.
"""

import torch


def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    for wrong, text in (
        (temperature < 0, "temperature"),
        (top_k is not None and top_k < 1, "top_k"),
        (top_p is not None and not 0 < top_p <= 1, "top_p"),
    ):
        if wrong:
            raise ValueError(f"bad {text}")
    above = logits.unsqueeze(-2) > logits.unsqueeze(-1)  # [B, token, other]
    rank = above.sum(-1)
    if temperature == 0:
        return (rank == 0).to(logits.dtype)
    z = logits.to(torch.promote_types(logits.dtype, torch.float32)).div(temperature)
    allowed = torch.ones_like(rank, dtype=torch.bool) if top_k is None else rank < top_k
    p = torch.softmax(z.masked_fill(~allowed, -1e9), -1)
    if top_p is not None:
        mass = torch.einsum("bij,bj->bi", above.to(p.dtype), p)
        allowed = allowed & ((mass < top_p) | (rank == 0))
    p = p * allowed
    return (p / p.sum(-1, keepdim=True)).to(logits.dtype)
