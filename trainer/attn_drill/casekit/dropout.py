"""Describe dropout in words. Its values are random, so a case compares words instead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import torch
from torch import Tensor, nn

TURNS = ("two calls differ", "two calls in eval mode differ", "training mode after eval mode")


def dropout_in_turn(module: nn.Module, call: Callable[[], Tensor]) -> dict[str, str]:
    """Call in training mode, in eval mode, and in training mode again, with the same seed.

    Return the outputs of `TURNS`. Afterwards the module is in eval mode.
    """
    module.train()
    torch.manual_seed(0)
    first, second = call(), call()
    module.eval()
    quiet, quiet_again = call(), call()
    module.train()
    torch.manual_seed(0)
    again = "as before" if torch.allclose(first, call()) else "not as before"
    module.eval()
    differ = (not torch.equal(first, second), not torch.equal(quiet, quiet_again))
    return dict(zip(TURNS, (*map(str, differ), again), strict=True))


def dropout_factors(result: Tensor, without: Tensor, p: float, parts: int = 1) -> str:
    """Return the factors by which dropout changes entries, for example "0, 1 / (1 - p)".

    Args:
        result: the entries in training mode, any dims.
        without: the same entries in eval mode. None is 0.
        p: the probability.
        parts: an entry is the sum of so many equal parts, which may be dropped one by one.
    """
    factors = {"0": 0.0}
    for power, words in enumerate(("", " / (1 - p)", " / (1 - p)^2", " / (1 - p)^3")):
        shares = (Fraction(count + 1, parts) for count in range(parts))
        factors |= {f"{share}{words}": float(share) / (1 - p) ** power for share in shares}
    distances = (result / without).double()[..., None] - torch.tensor([*factors.values()])
    smallest, places = distances.abs().min(-1)
    if bool((smallest > 1e-3).any()):
        return "other numbers"
    names = [name for place, name in enumerate(factors) if bool((places == place).any())]
    if len(names) > 1 and bool((places == places[..., :1]).all()):
        names.append("the same along the last dim")
    return ", ".join(names)


def equal_along(axes: Sequence[str], values: Tensor, known: Tensor) -> list[str]:
    """Return the names of the axes along which all known neighbours are equal.

    Args:
        axes: the names of the first axes of `values`; "" for an axis that does not count.
        known: bool, in the shape of `values`: whether an entry shows what was dropped.

    >>> kept = torch.tensor([[True, False], [True, False]])
    >>> equal_along(("of all tokens", "of all heads"), kept, torch.ones(2, 2) > 0)
    ['of all tokens']
    """
    names: list[str] = []
    for axis, name in enumerate(axes):
        size = values.shape[axis] - 1
        first, second = (values.narrow(axis, start, size) for start in (0, 1))
        both = known.narrow(axis, 0, size) & known.narrow(axis, 1, size)
        if name and bool((first == second)[both].all()):
            names.append(name)
    return names
