"""Beam search with a KV cache, for a single prompt.

    score(y_1 .. y_m) = (log p(y_1) + ... + log p(y_m | y_1 .. y_(m-1))) / m ** length_penalty

Each step continues all live hypotheses with all tokens and keeps the best sums. Hypotheses that end
in eos are set aside (Sutskever et al. 2014, Sequence to Sequence Learning with Neural Networks).
The length penalty has the form of the transformers library.
"""

import torch


@torch.no_grad()
def beam_search(step, reorder, tokens, num_beams, max_new_tokens, eos=None, length_penalty=1.0):
    """Return the best continuation of the prompt [1, L]: its tokens [L + m], and its score."""
    finished = []
    live = tokens
    # one hypothesis at first, or all beams would hold the same
    sums = torch.zeros(1, device=tokens.device)
    fed = tokens
    cache = None
    for made in range(1, max_new_tokens + 1):
        logits, cache = step(fed, cache)
        finer = torch.promote_types(logits.dtype, torch.float32)
        log_probs = torch.log_softmax(logits[:, -1].to(finer), dim=-1)
        totals = sums[:, None] + log_probs
        # over all live hypotheses together: one may have several continuations, another none
        sums, flat = totals.flatten().topk(num_beams)
        rows = flat // log_probs.shape[-1]
        newest = flat % log_probs.shape[-1]
        texts = torch.cat([live[rows], newest[:, None]], dim=1)
        scores = sums / made**length_penalty
        ended = torch.zeros_like(newest, dtype=torch.bool) if eos is None else newest == eos
        finished += zip(scores[ended].tolist(), texts[ended], strict=True)
        live = texts[~ended]
        sums = sums[~ended]
        if len(finished) >= num_beams or made == max_new_tokens:
            break
        # row i of the cache becomes the history of hypothesis i
        cache = reorder(cache, rows[~ended])
        fed = newest[~ended][:, None]
    candidates = finished + list(zip(scores[~ended].tolist(), live, strict=True))
    score, best = max(candidates, key=lambda candidate: candidate[0])
    return best, score
