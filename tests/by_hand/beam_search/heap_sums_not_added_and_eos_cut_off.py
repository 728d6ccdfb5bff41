# mistakes: sums-not-added, eos-cut-off
"""A heap chooses among all continuations; ended hypotheses are kept apart."""

import heapq

import torch


def beam_search(step, reorder, tokens, num_beams, max_new_tokens, eos=None, length_penalty=1.0):
    live, ended = [(0.0, 0, tokens[0].tolist())], []
    feed, cache = tokens, None
    for made in range(1, max_new_tokens + 1):
        logits, cache = step(feed, cache)
        table = torch.log_softmax(logits[:, -1].float(), dim=-1).tolist()
        options = []
        for row, (_, _, text) in enumerate(live):
            for token, log_prob in enumerate(table[row]):
                options.append((log_prob, row, [*text, token]))  # first wrong
        kept = heapq.nlargest(num_beams, options)
        live = []
        for total, row, text in kept:
            if text[-1] == eos:
                ended.append((total / made**length_penalty, text[:-1]))  # also wrong
            else:
                live.append((total, row, text))
        if len(ended) >= num_beams or made == max_new_tokens:
            break
        cache = reorder(cache, torch.tensor([row for _, row, _ in live]))
        feed = torch.tensor([text[-1:] for _, _, text in live])
    ended += [(total / made**length_penalty, text) for total, _, text in live]
    score, text = max(ended)
    return torch.tensor(text), score
