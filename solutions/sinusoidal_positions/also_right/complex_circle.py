"""Read a pair of columns as a complex number on the unit circle, in complex128.

polar makes cosine and sine in one call, which shows that a pair is a rotation. It gives the cosine
first, so the pairs must be flipped.
"""

import torch


def sinusoidal_positions(length: int, dim: int, base: float = 10000.0) -> torch.Tensor:
    pairs, rest = divmod(dim, 2)
    if rest:
        raise ValueError(f"odd number of features: {dim}")
    log_base = torch.tensor(base, dtype=torch.float64).log()
    theta = torch.exp(-log_base * torch.arange(pairs, dtype=torch.float64) / pairs)
    angle = torch.outer(torch.arange(length, dtype=torch.float64), theta)
    circle = torch.polar(torch.ones_like(angle), angle)
    return torch.view_as_real(circle).flip(-1).reshape(length, dim).float()
