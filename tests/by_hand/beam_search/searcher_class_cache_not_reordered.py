# mistakes: cache-not-reordered
"""A class holds the state of the search; the cache is only made larger or smaller."""

import torch


class Searcher:
    def __init__(self, step, reorder, prompt, width):
        self.step, self.reorder, self.width = step, reorder, width
        self.texts, self.totals = prompt, torch.zeros(1)
        self.chunk, self.memory = prompt, None

    def advance(self):
        logits, self.memory = self.step(self.chunk, self.memory)
        scores = self.totals[:, None] + torch.log_softmax(logits[:, -1].float(), dim=-1)
        self.totals, flat = scores.flatten().topk(self.width)
        self.parents, self.words = flat // scores.shape[1], flat % scores.shape[1]
        self.texts = torch.cat([self.texts[self.parents], self.words[:, None]], dim=1)
        self.old = len(scores)

    def keep(self, live):
        self.texts, self.totals = self.texts[live], self.totals[live]
        self.chunk = self.words[live][:, None]
        same = torch.arange(len(self.chunk)) % self.old
        self.memory = self.reorder(self.memory, same)  # first wrong


@torch.no_grad()
def beam_search(step, reorder, tokens, num_beams, max_new_tokens, eos=None, length_penalty=1.0):
    search = Searcher(step, reorder, tokens, num_beams)
    found, ended = [], 0
    for made in range(1, max_new_tokens + 1):
        search.advance()
        live = torch.ones(num_beams, dtype=torch.bool) if eos is None else search.words != eos
        ended += int((~live).sum())
        stop = ended >= num_beams or made == max_new_tokens
        for index, (total, text) in enumerate(zip(search.totals.tolist(), search.texts)):
            if stop or not live[index]:
                found.append((total / made**length_penalty, text))
        if stop:
            break
        search.keep(live)
    score, text = max(found, key=lambda pair: pair[0])
    return text, score
