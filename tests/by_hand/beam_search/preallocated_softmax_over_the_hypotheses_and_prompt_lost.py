# mistakes: softmax-over-the-hypotheses, prompt-lost
"""The new tokens go into a table of the full size."""

import torch
from torch.nn.functional import log_softmax


def beam_search(step, reorder, tokens, num_beams, max_new_tokens, eos=None, length_penalty=1.0):
    table = torch.zeros(1, max_new_tokens, dtype=torch.int64)
    running = torch.zeros(1)
    results = []
    logits, cache = step(tokens, None)
    column = 0
    while True:
        log_probs = log_softmax(logits[:, -1].float(), 0)  # first wrong
        every = log_probs + running.reshape(-1, 1)
        running, index = torch.topk(every.reshape(-1), num_beams)
        rows = index // every.shape[1]
        words = index - rows * every.shape[1]
        table = table[rows]
        table[:, column] = words
        column += 1
        is_live = torch.tensor([eos is None or word != eos for word in words.tolist()])
        stop = int((~is_live).sum()) + len(results) >= num_beams or column == max_new_tokens
        for place in range(num_beams):
            if not is_live[place]:
                score = float(running[place]) / column**length_penalty
                results.append((score, table[place, :column].clone()))
        table, running = table[is_live], running[is_live]
        if stop:
            break
        cache = reorder(cache, rows[is_live])
        logits, cache = step(words[is_live].unsqueeze(1), cache)
    for total, row in zip(running.tolist(), table, strict=True):
        results.append((total / column**length_penalty, row[:column]))
    score, new = max(results, key=lambda result: result[0])
    return new, score  # also wrong
