"""Errors that no challenge's bank need describe: a layer or its bias left out, two things exchanged, positions shifted.

They are changes of what the reference is given, not of the reference: so they are found wherever there are weights or inputs.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import Any

import torch
from torch import Tensor

from trainer.grading.diagnosis.bank import Bank
from trainer.grading.diagnosis.known import Search
from trainer.grading.exam import Change


def variation(bank: Bank, search: Search) -> str | None:
    """What the reference would have to be given to come to all that was seen, in words; None where nothing does, or several do."""
    if not search.telling or search.telling[0].behaviour.failure is not None:
        return None
    first, exam = search.telling[0], bank.exam
    small = exam.only([first.number], alone=True)
    left = [
        (words, inputs, parameters)
        for words, inputs, parameters in _variations(small.given(0), small.parameters(0))
        if search.is_like(first, bank.on(small.altered(inputs, parameters)).behaviour((), 0))
    ]
    found = []
    for words, inputs, parameters in left:
        changed = bank.on(exam.altered(inputs, parameters))
        if all(
            search.is_like(one, changed.behaviour((), one.number))
            for one in search.seen
            if not one.random
        ):
            found.append(words)
    return found[0] if len(found) == 1 else None


def _variations(
    inputs: Mapping[str, Any], parameters: Mapping[str, Tensor]
) -> Iterator[tuple[str, Change, Change]]:
    """Every change that a case allows: in words, of its inputs, of its weights."""
    biases = [name for name in parameters if name.endswith(".bias")]
    for name in biases:
        yield (
            f"it is what comes out without the bias of {name.removesuffix('.bias')}",
            _as_it_is,
            _changed({name: torch.zeros_like}),
        )
    if len(biases) > 1:
        yield (
            "it is what comes out without any bias",
            _as_it_is,
            _changed(dict.fromkeys(biases, torch.zeros_like)),
        )
    for name, value in parameters.items():
        layer = name.removesuffix(".weight")
        if layer != name and value.dim() == 2 and value.shape[0] == value.shape[1]:
            yield (
                f"it is what comes out without {layer}",
                _as_it_is,
                _changed({name: _identity, f"{layer}.bias": torch.zeros_like}),
            )
            yield (
                f"it is what comes out where the weight of {layer} is used transposed",
                _as_it_is,
                _changed({name: torch.t}),
            )
    layers = [name.removesuffix(".weight") for name in parameters if name.endswith(".weight")]
    for one, other in combinations(layers, 2):
        if parameters[f"{one}.weight"].shape == parameters[f"{other}.weight"].shape:
            both = _exchanged({f"{one}.{part}": f"{other}.{part}" for part in ("weight", "bias")})
            yield f"it is what comes out where {one} and {other} are exchanged", _as_it_is, both
    for name, value in inputs.items():
        if _is_integer(value):
            yield (
                f"it is what comes out where {name} is 1 more",
                _changed({name: lambda it: it + 1}),
                _as_it_is,
            )
            yield (
                f"it is what comes out where {name} is 1 less",
                _changed({name: lambda it: it - 1}),
                _as_it_is,
            )
    floats = [
        name
        for name, value in inputs.items()
        if isinstance(value, Tensor) and value.is_floating_point()
    ]
    for one, other in combinations(floats, 2):
        if inputs[one].shape == inputs[other].shape:
            yield (
                f"it is what comes out where {one} and {other} are exchanged",
                _exchanged({one: other}),
                _as_it_is,
            )


def _is_integer(value: Any) -> bool:
    if isinstance(value, Tensor):
        return value.dtype in (torch.int64, torch.int32)
    return type(value) is int


def _as_it_is(given: Mapping[str, Any]) -> Mapping[str, Any]:
    return given


def _identity(weight: Tensor) -> Tensor:
    return torch.eye(*weight.shape, dtype=weight.dtype)


def _changed(by_name: Mapping[str, Callable[[Any], Any]]) -> Change:
    """What is there of these names, changed."""
    return lambda given: {
        name: by_name[name](value) if name in by_name else value for name, value in given.items()
    }


def _exchanged(pairs: Mapping[str, str]) -> Change:
    """What is there of these pairs, the one in place of the other."""
    names = {**pairs, **{other: one for one, other in pairs.items()}}
    return lambda given: {
        name: given.get(names.get(name, name), value) for name, value in given.items()
    }
