# mistakes: cache-not-passed
"""A class that holds the state of the generation."""

import torch


class Decoder:
    def __init__(self, step, prompt, eos):
        self.step, self.eos = step, eos
        self.text = prompt
        self.memory = None
        self.finished = torch.zeros(prompt.size(0), dtype=torch.bool)

    def advance(self, chunk):
        scores, _ = self.step(chunk, self.memory)  # first wrong
        best = scores[:, -1].argmax(1)
        if self.eos is not None:
            best = best.masked_fill(self.finished, self.eos)
            self.finished = self.finished.logical_or(best == self.eos)
        best = best.unsqueeze(1)
        self.text = torch.hstack((self.text, best))
        return best


def generate(step, tokens, max_new_tokens, eos=None):
    decoder = Decoder(step, tokens, eos)
    chunk = tokens
    for _ in range(max_new_tokens):
        chunk = decoder.advance(chunk)
        if eos is not None and decoder.finished.all():
            break
    return decoder.text
