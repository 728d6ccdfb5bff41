# mistakes: logits-summed
"""Rows and tokens of all steps are stored, and the text is read backwards at the end."""

import torch


def beam_search(step, reorder, tokens, num_beams, max_new_tokens, eos=None, length_penalty=1.0):
    history, best, ended = [], (float("-inf"), 0, 0), 0
    sums, alive = torch.zeros(1), torch.zeros(1, dtype=torch.int64)
    feed, cache = tokens, None
    while True:
        logits, cache = step(feed, cache)
        scores = logits[:, -1].float() + sums[:, None]  # first wrong
        sums, flat = scores.flatten().topk(num_beams)
        rows, words = flat // scores.shape[1], flat % scores.shape[1]
        history.append((alive[rows].tolist(), words.tolist()))
        made = len(history)
        is_end = [word == eos for word in words.tolist()]
        ended += sum(is_end)
        is_last = ended >= num_beams or made == max_new_tokens
        for index, total in enumerate(sums.tolist()):
            if is_end[index] or is_last:
                best = max(best, (total / made**length_penalty, made, index))
        if is_last:
            break
        alive = (~torch.tensor(is_end)).nonzero()[:, 0]
        sums, feed = sums[alive], words[alive][:, None]
        cache = reorder(cache, rows[alive])
    score, made, index = best
    text = []
    for origins, words in reversed(history[:made]):
        text.insert(0, words[index])
        index = origins[index]
    return torch.tensor(tokens[0].tolist() + text), score
