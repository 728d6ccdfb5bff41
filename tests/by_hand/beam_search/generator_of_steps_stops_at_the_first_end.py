# mistakes: stops-at-the-first-end
"""A Python generator yields the kept continuations of each step, and is told which go on."""

import torch


def steps(step, reorder, tokens, width):
    chunk, cache, totals = tokens, None, torch.zeros(1)
    while True:
        logits, cache = step(chunk, cache)
        log_probs = torch.log_softmax(logits[:, -1].float(), dim=-1)
        totals, flat = (totals.view(-1, 1) + log_probs).view(-1).topk(width)
        rows = torch.div(flat, log_probs.size(1), rounding_mode="trunc")
        words = flat.remainder(log_probs.size(1))
        going = yield totals, rows, words
        totals, chunk = totals[going], words[going].view(-1, 1)
        cache = reorder(cache, rows[going])


def beam_search(step, reorder, tokens, num_beams, max_new_tokens, eos=None, length_penalty=1.0):
    search = steps(step, reorder, tokens, num_beams)
    totals, rows, words = next(search)
    texts, ended, number = tokens, [], 1
    while True:
        texts = torch.cat([texts[rows], words[:, None]], dim=1)
        scores = totals / number**length_penalty
        going = words != (-1 if eos is None else eos)
        ended += list(zip(scores[~going].tolist(), texts[~going].unbind()))
        texts, scores = texts[going], scores[going]
        if len(ended) > 0 or number == max_new_tokens:  # first wrong
            break
        number += 1
        totals, rows, words = search.send(going)
    ended += list(zip(scores.tolist(), texts.unbind()))
    score, text = max(ended, key=lambda pair: pair[0])
    return text, score
