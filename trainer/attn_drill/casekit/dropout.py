"""Describe dropout in words. Its values are random, so a case compares words instead."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction

import torch
from torch import Tensor, nn

from attn_drill.casekit.draw import Draw

TOGETHER = {
    "weights that are dropped together": "none",
    "entries that are dropped together": "none",
    "features of a head lose the same keys": "True",
}
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


def dropped_together(
    attentions: Sequence[Tensor], others: Sequence[Tensor], p: float
) -> dict[str, str]:
    """Return in words which weights and which entries dropout always drops together.

    Args:
        attentions: for each attention, the factors of its result, [calls, B, 3, 4], in features of
            two heads, two of each. Token i sees i + 1 keys of equal weight and value.
        others: the other results that are dropped, [calls, B, 3, 4]. None is 0 without dropout.
        p: the probability, of the weights and of all results.

    Returns:
        Words for the names of `TOGETHER`. With independent draws, they are those of `TOGETHER`.
    """
    keys = torch.arange(1, 4)[:, None]
    axes = ("of both calls", "of all sequences", "of all tokens")
    weights: list[str] = []
    entries: list[str] = []
    are_alike = True
    for attention in attentions:
        kept = (attention * keys * (1 - p) ** 2).round().reshape(*attention.shape[:-1], 2, 2)
        most = kept.amax(dim=-1)  # how many keys a head keeps; 0 if that is unknown
        several = most[:, :, 1:]  # of the tokens that see several keys
        weights += _equal_along((*axes[:2], "", "of all heads"), several, several > 0)
        # If all queries lost the same keys, no query would lose a key that a later query keeps.
        if not bool(((most[:, :, 2] == 3) & (most[:, :, 1] == 1)).any()):
            weights.append("of all queries")
        entries += _equal_along(axes, kept > 0, (most > 0)[..., None].expand(kept.shape))
        are_alike = are_alike and bool(((kept == most[..., None]) | (kept == 0)).all())
    for other in others:
        entries += _equal_along(axes, other != 0, torch.ones_like(other) > 0)
    found = (", ".join(dict.fromkeys(names)) or "none" for names in (weights, entries))
    return dict(zip(TOGETHER, (*found, str(are_alike)), strict=True))


def _equal_along(axes: Sequence[str], values: Tensor, known: Tensor) -> list[str]:
    """Return the names of the axes along which all known neighbours are equal.

    Args:
        axes: the names of the first axes of `values`; "" for an axis that does not count.
        known: bool, in the shape of `values`: whether an entry shows what was dropped.

    >>> kept = torch.tensor([[True, False], [True, False]])
    >>> _equal_along(("of all tokens", "of all heads"), kept, torch.ones(2, 2) > 0)
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


def branches_apart(draw: Draw, blocks: int, **embeddings: int) -> dict[str, Tensor]:
    """Return weights of a small GPT with which each part gives four features of the stream.

    The parts are the embeddings and, for each block, its attention and its MLP. The head dim is 2,
    so an attention gives two features of each of two heads. The norms give constants, so every key
    of a block has the same weight and the same value.

    Args:
        embeddings: the rows of each table of embeddings, by its name.
    """
    width = 4 * (1 + 2 * blocks)
    part = torch.arange(width)[:, None] // 4
    weights = {
        f"{name}.weight": draw.normal(count, width) * (part.T == 0)
        for name, count in embeddings.items()
    }
    for block in range(blocks):
        path, attention = f"blocks.{block}", 2 * block + 1
        weights |= {
            f"{path}.ln_1.weight": torch.zeros(width),
            f"{path}.ln_2.weight": torch.zeros(width),
            f"{path}.attn.o_proj.weight": torch.eye(width) * (part == attention),
            f"{path}.attn.o_proj.bias": torch.zeros(width),
            f"{path}.mlp.proj.weight": draw.normal(width, 4 * width) * (part == attention + 1),
            f"{path}.mlp.proj.bias": torch.zeros(width),
        }
    return weights


def branch_words(blocks: int) -> dict[str, str]:
    """Return the words of `branch_factors` for right dropout."""
    words = {"factors of the embeddings": "0, 1 / (1 - p)"}
    for order in ("", "second ")[:blocks]:
        words[f"factors of the {order}attention's result"] = "0, 1/2 / (1 - p)^2, 1 / (1 - p)^2"
        words[f"factors of the {order}MLP's result"] = "0, 1 / (1 - p)"
    return words | TOGETHER


def branch_factors(
    model: nn.Module, feed: Callable[[], object], blocks: int, p: float
) -> dict[str, str]:
    """Return in words how dropout acts on the parts of a small GPT; see `branch_words`.

    Args:
        model: has the weights of `branches_apart`, and ln_f reads its stream.
        feed: calls the model on three tokens of each sequence, in one call or in several.
    """
    streams: list[Tensor] = []
    hooks = [
        part.register_forward_pre_hook(lambda _, arguments: streams.append(arguments[0]))
        for name, part in model.named_modules()
        if name.split(".")[-1] == "ln_f"
    ]

    def stream() -> Tensor | None:
        streams.clear()
        feed()
        return torch.cat(streams, 1) if streams else None

    try:
        model.eval()
        without = stream()
        model.train()
        torch.manual_seed(0)
        calls = [stream(), stream()]
    finally:
        model.eval()
        for hook in hooks:
            hook.remove()
    right = branch_words(blocks)
    if without is None or without.shape[1] != 3:
        return right  # ln_f is not called as a module
    result = torch.stack([call for call in calls if call is not None])
    parts = 1 + 2 * blocks
    pairs = list(zip(result.chunk(parts, dim=-1), without.chunk(parts, dim=-1), strict=True))
    words: dict[str, str] = {}
    for name, (some, quiet) in zip(right, pairs, strict=False):
        # The first two tokens see one key or two.
        tokens, count = (slice(2), 2) if "attention" in name else (slice(3), 1)
        words[name] = dropout_factors(some[:, :, tokens], quiet[:, tokens], p, count)
    attentions = [some / quiet for some, quiet in pairs[1::2]]
    return words | dropped_together(attentions, [some for some, _ in pairs[::2]], p)
