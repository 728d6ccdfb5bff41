"""Represent a hypothesis by an object, and let a heap choose the best continuations.

Names such as `extended` and `score` keep the rules in one place each. Objects cost much more than
rows of a tensor, so this suits a few beams.
"""

import heapq
from dataclasses import dataclass

import torch


@dataclass(frozen=True)
class Hypothesis:
    new: tuple
    total: float
    row: int

    def extended(self, token, log_prob, row):
        return Hypothesis((*self.new, token), self.total + log_prob, row)

    def score(self, penalty):
        return self.total / len(self.new) ** penalty


def continuations(live, logits):
    scores = logits[:, -1, :].to(torch.float64)
    log_probs = scores - scores.logsumexp(dim=1, keepdim=True)
    for row, hypothesis in enumerate(live):
        for token, log_prob in enumerate(log_probs[row].tolist()):
            yield hypothesis.extended(token, log_prob, row)


def beam_search(step, reorder, tokens, num_beams, max_new_tokens, eos=None, length_penalty=1.0):
    live, ended = [Hypothesis((), 0.0, 0)], []
    feed, cache = tokens, None
    for left in reversed(range(max_new_tokens)):
        logits, cache = step(feed, cache)
        kept = heapq.nlargest(num_beams, continuations(live, logits), key=lambda h: h.total)
        ended += [h for h in kept if h.new[-1] == eos]
        live = [h for h in kept if h.new[-1] != eos]
        if left == 0 or len(ended) >= num_beams:
            break
        cache = reorder(cache, torch.tensor([h.row for h in live], dtype=torch.long))
        feed = torch.tensor([[h.new[-1]] for h in live])
    best = max(ended + live, key=lambda h: h.score(length_penalty))
    return torch.tensor([*tokens[0].tolist(), *best.new]), best.score(length_penalty)
