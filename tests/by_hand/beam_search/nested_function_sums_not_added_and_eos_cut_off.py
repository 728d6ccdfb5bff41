# mistakes: sums-not-added, eos-cut-off
"""A nested function notes results; the tensors are named after what they hold."""

import torch


def beam_search(step, reorder, tokens, num_beams, max_new_tokens, eos=None, length_penalty=1.0):
    results = []

    def note(totals, texts, count):
        for total, text in zip(totals.tolist(), texts, strict=True):
            results.append((total / count**length_penalty, text))

    texts, chunk, cache = tokens, tokens, None
    for count in range(1, max_new_tokens + 1):
        logits, cache = step(chunk, cache)
        log_probs = torch.log_softmax(logits[:, -1].float(), dim=-1)
        totals, index = log_probs.flatten().topk(num_beams)  # first wrong
        rows = index.div(log_probs.shape[1], rounding_mode="floor")
        words = index.remainder(log_probs.shape[1])
        texts = torch.cat([texts[rows], words.view(-1, 1)], dim=1)
        if eos is not None:
            ends = words == eos
            note(totals[ends], texts[ends][:, :-1], count)  # also wrong
            texts, totals = texts[~ends], totals[~ends]
            rows, words = rows[~ends], words[~ends]
        if len(results) >= num_beams or count == max_new_tokens:
            break
        cache = reorder(cache, rows)
        chunk = words.view(-1, 1)
    note(totals, texts, count)
    score, best = max(results, key=lambda result: result[0])
    return best, score
