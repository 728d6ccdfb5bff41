# mistakes: logits-summed
"""A while loop; ended hypotheses are kept as two lists, texts and scores."""

import torch


def beam_search(step, reorder, tokens, num_beams, max_new_tokens, eos=None, length_penalty=1.0):
    texts, running, ended, ended_scores = tokens, torch.zeros(1, 1), [], []
    feed, cache, count = tokens, None, 0
    while count < max_new_tokens and len(ended) < num_beams:
        if count > 0:
            cache = reorder(cache, rows)
        logits, cache = step(feed, cache)
        count += 1
        gains = logits[:, -1, :].float()  # first wrong
        running = running + gains
        best, places = running.view(-1).topk(num_beams)
        rows, words = places // gains.shape[1], places % gains.shape[1]
        texts = torch.cat([texts[rows], words[:, None]], dim=1)
        scores = best / count**length_penalty
        if eos is not None:
            open_ones = words != eos
            ended.extend(texts[~open_ones])
            ended_scores.extend(scores[~open_ones].tolist())
            texts, rows, words = texts[open_ones], rows[open_ones], words[open_ones]
            best, scores = best[open_ones], scores[open_ones]
        running, feed = best[:, None], words[:, None]
    ended.extend(texts)
    ended_scores.extend(scores.tolist())
    top = max(ended_scores)
    return ended[ended_scores.index(top)], top
