# mistakes: smallest-sums, penalty-missing
"""A helper chooses among all sums and splits the flat indices."""

import torch


def choose(sums, number):
    best, index = sums.flatten().topk(number, largest=False)  # first wrong
    width = sums.shape[-1]
    return best, index // width, index % width


@torch.no_grad()
def beam_search(step, reorder, tokens, num_beams, max_new_tokens, eos=None, length_penalty=1.0):
    text, total, feed, cache, out = tokens, torch.zeros(1), tokens, None, []
    for number in range(1, max_new_tokens + 1):
        logits, cache = step(feed, cache)
        log_probs = logits[:, -1].float().log_softmax(dim=-1)
        total, rows, words = choose(total[:, None] + log_probs, num_beams)
        text = torch.cat([text[rows], words[:, None]], dim=1)
        if eos is not None:
            go = words != eos
            out.extend(zip(total[~go].tolist(), text[~go]))  # also wrong
            text, total, rows, words = text[go], total[go], rows[go], words[go]
        if len(out) >= num_beams or number == max_new_tokens:
            break
        cache = reorder(cache, rows)
        feed = words[:, None]
    out.extend(zip(total.tolist(), text))
    score, best = max(out, key=lambda pair: pair[0])
    return best, score
