"""Write the tokens into a buffer of the full size, and keep only the best ended hypothesis.

An ended hypothesis can only win if it beats all others that have ended, so one is enough, with a
count of the rest. The buffer has room for max_new_tokens, also if the search stops early.
"""

import torch


@torch.no_grad()
def beam_search(step, reorder, tokens, num_beams, max_new_tokens, eos=None, length_penalty=1.0):
    length = tokens.size(1)
    texts = tokens.new_zeros(num_beams, length + max_new_tokens)
    texts[:, :length] = tokens
    sums = torch.full((1, 1), 0.0)
    best, best_score, count = None, -float("inf"), 0
    cache, begin, end = None, 0, length
    rows_fed = 1
    while True:
        logits, cache = step(texts[:rows_fed, begin:end].contiguous(), cache)
        log_probs = torch.nn.functional.log_softmax(logits[:, -1], dim=-1, dtype=torch.float32)
        totals = log_probs + sums
        order = totals.flatten().argsort(descending=True)[:num_beams]
        rows, newest = order // totals.shape[1], order % totals.shape[1]
        kept = totals[rows, newest]
        texts = texts[rows]
        texts[:, end] = newest
        begin, end = end, end + 1
        is_last = end == texts.shape[1]
        scores = kept / (end - length) ** length_penalty
        live = torch.tensor([eos is None or token != eos for token in newest.tolist()])
        count += len(live) - int(live.sum())
        is_last = is_last or count >= num_beams
        for index in range(num_beams):
            if (is_last or not live[index]) and scores[index] > best_score:
                best, best_score = texts[index, :end].clone(), float(scores[index])
        if is_last:
            return best, best_score
        cache = reorder(cache, rows[live])
        sums = kept[live].unsqueeze(1)
        rows_fed = int(live.sum())
        texts = torch.cat([texts[live], texts.new_zeros(num_beams, texts.shape[1])])
