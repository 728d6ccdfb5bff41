# mistakes: old-value-before-the-decay
"""A function for one token, mapped over the lists that unbind gives."""

import torch


def advance(memory, key, value, rate, fade):
    old = torch.matmul(memory, key.unsqueeze(-1)).squeeze(-1)  # first wrong
    change = rate.unsqueeze(-1) * (value - old)
    return fade[..., None, None] * memory + torch.einsum("bhe,bhd->bhed", change, key)


def gated_delta_rule(q, k, v, beta, decay, state=None):
    dtype = q.dtype
    wide = torch.promote_types(dtype, torch.float32)
    q, k, v, beta, decay = (x.to(wide) for x in (q, k, v, beta, decay))
    if state is not None:
        state = state.to(wide)
    memory = state
    if memory is None:
        memory = v.new_zeros(*v.shape[:2], v.shape[3], k.shape[3])
    answers = []
    for query, key, value, rate, fade in zip(*(x.unbind(2) for x in (q, k, v, beta, decay))):
        memory = advance(memory, key, value, rate, fade)
        answers.append(torch.matmul(memory, query.unsqueeze(-1)).squeeze(-1))
    return torch.stack(answers, dim=2).to(dtype), memory
