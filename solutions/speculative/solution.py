"""The check of a draft in speculative decoding.

    accept token i if u_i < min(1, p_i / q_i)
    at the first refusal: draw from max(p - q, 0) / sum(max(p - q, 0))

A token x is accepted with probability min(p(x), q(x)), and the draw after a refusal adds
max(p(x) - q(x), 0): together p(x). So the text has the distribution of the large model.
Leviathan et al. 2023, "Fast Inference from Transformers via Speculative Decoding"; Chen et al.
2023, "Accelerating Large Language Model Decoding with Speculative Sampling".
"""

import torch


def accept_draft(draft_tokens, draft_probs, target_probs, uniforms):
    """Return the accepted draft tokens and one drawn token: int64 [m], 1 <= m <= n + 1."""
    count = len(draft_tokens)
    work = torch.promote_types(target_probs.dtype, torch.float32)
    target_rows = target_probs.to(work)  # [n + 1, V]
    draft_rows = draft_probs.to(work)  # [n, V]
    index = draft_tokens[:, None]
    p = target_rows[:count].gather(1, index)[:, 0]  # [n]
    q = draft_rows.gather(1, index)[:, 0]
    quotient = p / q
    # a uniform is below 1, so it is below every quotient from 1 on
    accepted = uniforms[:count] < quotient
    # 1 as long as all tokens so far are accepted, then 0
    leading = accepted.long().cumprod(dim=0)
    kept = int(leading.sum())
    if kept < count:
        difference = target_rows[kept] - draft_rows[kept]  # [V]
        residual = difference.clamp(min=0)
        distribution = residual / residual.sum()
    else:
        distribution = target_rows[count]
    cumulative = distribution.cumsum(dim=0)
    exceeds = cumulative > uniforms[count]
    # argmax gives the first of several maxima
    drawn = exceeds.long().argmax(dim=0, keepdim=True)  # [1]
    return torch.cat([draft_tokens[:kept], drawn])
