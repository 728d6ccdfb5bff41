# mistakes: length-with-the-prompt
"""Beams are lists of tokens with a total; a key function compares them at the end."""

import torch


@torch.no_grad()
def beam_search(step, reorder, tokens, num_beams, max_new_tokens, eos=None, length_penalty=1.0):
    beams, done = [(0.0, tokens[0].tolist())], []
    logits, cache = step(tokens, None)
    for left in range(max_new_tokens - 1, -1, -1):
        log_probs = torch.log_softmax(logits[:, -1].double(), dim=-1)
        options = []
        for row, (total, text) in enumerate(beams):
            values, indices = log_probs[row].topk(num_beams)
            for value, token in zip(values.tolist(), indices.tolist(), strict=True):
                options.append((total + value, row, [*text, token]))
        kept = sorted(options, reverse=True)[:num_beams]
        done += [(total, text) for total, _, text in kept if text[-1] == eos]
        beams = [(total, text) for total, _, text in kept if text[-1] != eos]
        rows = [row for _, row, text in kept if text[-1] != eos]
        if left == 0 or len(done) >= num_beams:
            break
        feed = torch.tensor([[text[-1]] for _, text in beams])
        logits, cache = step(feed, reorder(cache, torch.tensor(rows)))
    scores = [(total / len(text) ** length_penalty, text) for total, text in done + beams]
    score, text = max(scores)  # first wrong
    return torch.tensor(text), score
