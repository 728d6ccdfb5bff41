"""Find general errors that a pack need not list as known mistakes.

Examples: a layer or its bias is left out, two layers or inputs are swapped, positions are shifted.
Each error is a change of the inputs or weights of the reference. So it can be found in every
challenge that has weights or inputs.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import combinations
from typing import Any

import torch
from torch import Tensor

from attn_drill.diagnosis._behaviour import Agreement, Observed
from attn_drill.diagnosis.patched_references import behave
from attn_drill.grading.case_set import CaseSet, Change

# What is changed, in words, and the change of the inputs (or of the weights) that makes it.
_Variation = tuple[str, Change]


def generic_error(agreement: Agreement) -> str | None:
    """Return in words the only change of inputs, weights or outputs that explains all cases.

    Returns None if no change explains them, or if several changes do.
    """
    if not agreement.wrong_cases or agreement.wrong_cases[0].behaviour.failure is not None:
        return None
    references, first = agreement.references, agreement.wrong_cases[0]
    case_set = references.case_set
    certain = [observed for observed in agreement.observed_cases if not observed.is_random]

    def explains(altered: CaseSet, observed: Observed, index: int) -> bool:
        names = references.namespace(())
        return names is not None and agreement.is_like(observed, behave(names, altered, index))

    descriptions = []
    alone = case_set.only([first.index], alone=True)
    (prepared,) = alone.prepared
    variations = [
        *((words, _unchanged, change) for words, change in _changed_weights(prepared.parameters)),
        *((words, change, _unchanged) for words, change in _changed_inputs(prepared.inputs)),
    ]
    for words, inputs, parameters in variations:
        if not explains(alone.altered(inputs, parameters), first, 0):
            continue
        altered = case_set.altered(inputs, parameters)
        if all(explains(altered, observed, observed.index) for observed in certain):
            descriptions.append(f"this is the output you get {words}")
    return descriptions[0] if len(descriptions) == 1 else None


def _changed_weights(parameters: Mapping[str, Tensor]) -> Iterator[_Variation]:
    biases = [name for name in parameters if name.endswith(".bias")]
    for name in biases:
        yield f"without the bias of {name[: -len('.bias')]}", _changed({name: torch.zeros_like})
    if len(biases) > 1:
        yield "without any bias", _changed(dict.fromkeys(biases, torch.zeros_like))
    layers = [name.removesuffix(".weight") for name in parameters if name.endswith(".weight")]
    for layer in layers:
        name, shape = f"{layer}.weight", parameters[f"{layer}.weight"].shape
        if len(shape) == 2 and shape[0] == shape[1]:
            identity = torch.eye(shape[0], dtype=parameters[name].dtype)
            nothing = {name: lambda _, identity=identity: identity}
            yield f"without {layer}", _changed({**nothing, f"{layer}.bias": torch.zeros_like})
            yield f"if the weight of {layer} is transposed", _changed({name: torch.t})
    for first, second in combinations(layers, 2):
        if parameters[f"{first}.weight"].shape == parameters[f"{second}.weight"].shape:
            swapped = {f"{first}.{part}": f"{second}.{part}" for part in ("weight", "bias")}
            yield f"if {first} and {second} are swapped", _swapped(swapped)


def _changed_inputs(inputs: Mapping[str, Any]) -> Iterator[_Variation]:
    floats = []
    for name, value in inputs.items():
        is_tensor = isinstance(value, Tensor)
        if type(value) is int or (is_tensor and value.dtype in (torch.int64, torch.int32)):
            yield f"if {name} is 1 larger", _changed({name: lambda value: value + 1})
            yield f"if {name} is 1 smaller", _changed({name: lambda value: value - 1})
        elif is_tensor and value.is_floating_point():
            floats.append(name)
    for first, second in combinations(floats, 2):
        if inputs[first].shape == inputs[second].shape:
            yield f"if {first} and {second} are swapped", _swapped_in_all_calls(first, second)


def _swapped_in_all_calls(first: str, second: str) -> Change:
    """Return a change that swaps two inputs of every call of a case.

    The inputs of other calls differ from the two names by the same prefix: `later_key` and
    `later_value` belong to `key` and `value`.
    """

    def swap(values: Mapping[str, Any]) -> Mapping[str, Any]:
        pairs: dict[str, str] = {}
        for name in values:
            other = f"{name.removesuffix(first)}{second}"
            if (name == first or name.endswith(f"_{first}")) and other in values:
                # A tensor that is given twice is named by the other input. It stays as it is.
                texts = [value for value in (values[name], values[other]) if isinstance(value, str)]
                if name not in texts and other not in texts:
                    pairs[name] = other
        return _swapped(pairs)(values)

    return swap


def _unchanged(values: Mapping[str, Any]) -> Mapping[str, Any]:
    return values


def _changed(by_name: Mapping[str, Any]) -> Change:
    """Return a change of the values with these names. Missing names are ignored."""
    return lambda values: {
        name: by_name[name](value) if name in by_name else value for name, value in values.items()
    }


def _swapped(pairs: Mapping[str, str]) -> Change:
    """Return a change that swaps the values of each pair of names."""
    names = {**pairs, **{second: first for first, second in pairs.items()}}
    return lambda values: {
        name: values.get(names.get(name, name), value) for name, value in values.items()
    }
