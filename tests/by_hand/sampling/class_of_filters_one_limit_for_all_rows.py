# mistakes: one-limit-for-all-rows
"""A class with a method for each filter."""

import torch
from torch import Tensor


class Sampler:
    def __init__(self, temperature: float, top_k: int | None, top_p: float | None) -> None:
        if temperature < 0:
            raise ValueError("temperature < 0")
        if top_k is not None and top_k <= 0:
            raise ValueError("top_k < 1")
        if top_p is not None and (top_p > 1 or top_p <= 0):
            raise ValueError("top_p outside (0, 1]")
        self.temperature, self.top_k, self.top_p = temperature, top_k, top_p

    def limit_number(self, x: Tensor) -> Tensor:
        k = min(self.top_k, x.size(1))
        threshold = torch.topk(x, k).values[0, k - 1]  # first wrong
        return x.masked_fill(x < threshold, -torch.inf)

    def limit_mass(self, x: Tensor) -> Tensor:
        values, indices = torch.sort(x, dim=1, descending=True)
        p = torch.softmax(values, dim=1)
        mass_before = torch.cumsum(p, dim=1) - p
        values = values.masked_fill(mass_before >= self.top_p, -torch.inf)
        return torch.full_like(x, -torch.inf).scatter(1, indices, values)

    def __call__(self, logits: Tensor) -> Tensor:
        if self.temperature == 0:
            best = logits.max(dim=1, keepdim=True).values
            return (logits == best).to(logits.dtype)
        x = logits.to(torch.promote_types(logits.dtype, torch.float32)) / self.temperature
        x = x if self.top_k is None else self.limit_number(x)
        x = x if self.top_p is None else self.limit_mass(x)
        return torch.softmax(x, dim=1).to(logits.dtype)


def next_token_probabilities(logits, temperature=1.0, top_k=None, top_p=None):
    return Sampler(temperature, top_k, top_p)(logits)
