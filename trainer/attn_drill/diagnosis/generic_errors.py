"""Find general errors that a pack need not list as known mistakes.

Examples: a layer or its bias is left out, two layers or inputs are swapped, positions are shifted.
Each error is a change of the inputs or weights of the reference. So it can be found in every
challenge that has weights or inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import torch
from torch import Tensor

from attn_drill.diagnosis.agreement import Agreement
from attn_drill.grading.case_set import Change


def _unchanged(values: Mapping[str, Any]) -> Mapping[str, Any]:
    return values


@dataclass(frozen=True)
class Variation:
    """A change of inputs or weights under which the reference may give the submission's output."""

    description: str
    inputs: Change = _unchanged
    parameters: Change = _unchanged


def generic_error(agreement: Agreement) -> str | None:
    """Return in words the only change of inputs, weights or outputs that explains all cases.

    Returns None if no change explains them, or if several changes do.
    """
    if not agreement.wrong_cases or agreement.wrong_cases[0].behaviour.failure is not None:
        return None
    if _exchanges_true_and_false(agreement):
        return "True and False are exchanged: every wrong output is exactly the opposite"
    first, references = agreement.wrong_cases[0], agreement.references
    case_set = references.case_set
    prepared = case_set.prepared[first.index]
    alone = case_set.only([first.index], alone=True)
    found = []
    for variation in _variations(prepared.inputs, prepared.parameters):
        on_first = references.on_cases(alone.altered(variation.inputs, variation.parameters))
        if not agreement.is_like(first, on_first.behaviour((), 0)):
            continue
        on_all = references.on_cases(case_set.altered(variation.inputs, variation.parameters))
        certain = [case for case in agreement.observed_cases if not case.is_random]
        if all(agreement.is_like(case, on_all.behaviour((), case.index)) for case in certain):
            found.append(variation.description)
    return found[0] if len(found) == 1 else None


def _exchanges_true_and_false(agreement: Agreement) -> bool:
    """Return whether every output of every wrong case is boolean and the opposite of the right."""
    for observed in agreement.wrong_cases:
        right = agreement.references.behaviour((), observed.index)
        if right is None or right.outputs.keys() != observed.behaviour.outputs.keys():
            return False
        for name, value in right.outputs.items():
            actual = observed.behaviour.outputs[name]
            if not isinstance(value, Tensor) or not isinstance(actual, Tensor):
                return False
            if value.dtype != torch.bool or actual.dtype != torch.bool:
                return False
            if not torch.equal(actual, ~value):
                return False
    return True


def _variations(inputs: Mapping[str, Any], parameters: Mapping[str, Tensor]) -> Iterator[Variation]:
    """Yield every change that is possible for these inputs and parameters."""
    yield from _without_biases(parameters)
    yield from _changed_layers(parameters)
    yield from _swapped_layers(parameters)
    yield from _shifted_integers(inputs)
    yield from _swapped_inputs(inputs)


def _without_biases(parameters: Mapping[str, Tensor]) -> Iterator[Variation]:
    biases = [name for name in parameters if name.endswith(".bias")]
    for name in biases:
        description = f"this is the output you get without the bias of {name[: -len('.bias')]}"
        yield Variation(description, parameters=_changed({name: torch.zeros_like}))
    if len(biases) > 1:
        zeros = _changed(dict.fromkeys(biases, torch.zeros_like))
        yield Variation("this is the output you get without any bias", parameters=zeros)


def _changed_layers(parameters: Mapping[str, Tensor]) -> Iterator[Variation]:
    for name, value in parameters.items():
        layer = name.removesuffix(".weight")
        if layer == name or value.dim() != 2 or value.shape[0] != value.shape[1]:
            continue
        nothing = {name: _identity, f"{layer}.bias": torch.zeros_like}
        yield Variation(f"this is the output you get without {layer}", parameters=_changed(nothing))
        yield Variation(
            f"this is the output you get if the weight of {layer} is transposed",
            parameters=_changed({name: torch.t}),
        )


def _swapped_layers(parameters: Mapping[str, Tensor]) -> Iterator[Variation]:
    layers = [name.removesuffix(".weight") for name in parameters if name.endswith(".weight")]
    for first, second in combinations(layers, 2):
        if parameters[f"{first}.weight"].shape == parameters[f"{second}.weight"].shape:
            swapped = {f"{first}.{part}": f"{second}.{part}" for part in ("weight", "bias")}
            yield Variation(
                f"this is the output you get if {first} and {second} are swapped",
                parameters=_swapped(swapped),
            )


def _shifted_integers(inputs: Mapping[str, Any]) -> Iterator[Variation]:
    for name, value in inputs.items():
        if _is_integer(value):
            for step, words in ((1, "1 larger"), (-1, "1 smaller")):
                yield Variation(
                    f"this is the output you get if {name} is {words}",
                    inputs=_shifted(name, step),
                )


def _swapped_inputs(inputs: Mapping[str, Any]) -> Iterator[Variation]:
    floats = [
        name
        for name, value in inputs.items()
        if isinstance(value, Tensor) and value.is_floating_point()
    ]
    for first, second in combinations(floats, 2):
        if inputs[first].shape == inputs[second].shape:
            yield Variation(
                f"this is the output you get if {first} and {second} are swapped",
                inputs=_swapped_in_all_calls(first, second),
            )


def _swapped_in_all_calls(first: str, second: str) -> Change:
    """Return a change that swaps two inputs of every call of a case.

    The inputs of other calls differ from the two names by the same prefix: `later_key` and
    `later_value` belong to `key` and `value`.
    """

    def swap(values: Mapping[str, Any]) -> Mapping[str, Any]:
        pairs: dict[str, str] = {}
        for name in values:
            is_of_a_call = name == first or name.endswith(f"_{first}")
            other = f"{name.removesuffix(first)}{second}"
            # A tensor that is given twice is named by the other input. It stays as it is.
            if is_of_a_call and other in values and not _are_one(values, name, other):
                pairs[name] = other
        return _swapped(pairs)(values)

    return swap


def _are_one(values: Mapping[str, Any], name: str, other: str) -> bool:
    """Return whether one of two inputs is only the name of the other."""
    pairs = ((values[name], other), (values[other], name))
    return any(isinstance(value, str) and value == target for value, target in pairs)


def _is_integer(value: Any) -> bool:
    if isinstance(value, Tensor):
        return value.dtype in (torch.int64, torch.int32)
    return type(value) is int


def _identity(weight: Tensor) -> Tensor:
    return torch.eye(*weight.shape, dtype=weight.dtype)


def _changed(by_name: Mapping[str, Any]) -> Change:
    """Return a change of the values with these names. Missing names are ignored."""
    return lambda values: {
        name: by_name[name](value) if name in by_name else value for name, value in values.items()
    }


def _shifted(name: str, step: int) -> Change:
    """Return a change that adds `step` to the value with this name."""
    return _changed({name: lambda value: value + step})


def _swapped(pairs: Mapping[str, str]) -> Change:
    """Return a change that swaps the values of each pair of names."""
    names = {**pairs, **{second: first for first, second in pairs.items()}}
    return lambda values: {
        name: values.get(names.get(name, name), value) for name, value in values.items()
    }
