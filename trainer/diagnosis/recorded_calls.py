"""Record the calls that `drive` makes in a case, with their arguments and the right results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from trainer.grading.case_set import CaseSet
from trainer.worker.execution import Given, build, lay_out, leaves, map_leaves
from trainer.worker.protocol import DTYPES


@dataclass(frozen=True)
class RecordedCall:
    """One call of the reference.

    Attributes:
        name: the function that was called; "" for the only callable of the challenge.
        positional, named: the arguments.
        result: the right result.
    """

    name: str
    positional: tuple[Any, ...]
    named: Mapping[str, Any]
    result: Any


@dataclass(frozen=True)
class RecordedCalls:
    """All calls of a case.

    Attributes:
        calls: the calls in order.
        inputs: the tensors of the case, by name, in the memory layout of the case.
        outputs: the outputs that `drive` made from the results.
    """

    calls: tuple[RecordedCall, ...]
    inputs: Mapping[str, Tensor]
    outputs: Mapping[str, Any]


def recorded_calls(case_set: CaseSet, index: int) -> RecordedCalls:
    """Run the reference on a case and return the calls.

    Args:
        case_set: the cases.
        index: of the case, from 0.
    """
    content, prepared = case_set.content, case_set.prepared[index]
    case, challenge = prepared.case, case_set.challenge
    implementation = build(
        content.reference,
        challenge.kind,
        challenge.entry,
        case.init,
        DTYPES[case.dtype],
        case.mode,
    )
    if isinstance(implementation, nn.Module):
        own = dict(implementation.named_parameters())
        with torch.no_grad():
            for name, value in prepared.parameters.items():
                own[name].copy_(value)

    def laid_out(name: str, tensor: Tensor) -> Tensor:
        return lay_out(tensor, case.layout.get(name.partition("[")[0]))

    inputs = map_leaves(prepared.inputs, laid_out)
    calls: list[RecordedCall] = []
    with torch.no_grad():
        outputs = content.drive(_watched(implementation, calls), Given(inputs, case.sizes))
    return RecordedCalls(tuple(calls), dict(leaves(inputs)), outputs)


def _watched(implementation: Any, calls: list[RecordedCall]) -> Any:
    """Return an object that `drive` can call like the implementation. It notes the calls."""
    if isinstance(implementation, SimpleNamespace):
        functions = vars(implementation).items()
        return SimpleNamespace(**{name: _Watched(name, call, calls) for name, call in functions})
    return _Watched("", implementation, calls)


class _Watched:
    """A callable that notes its calls."""

    def __init__(self, name: str, function: Any, calls: list[RecordedCall]) -> None:
        self._name, self._function, self._calls = name, function, calls

    def __call__(self, *positional: Any, **named: Any) -> Any:
        result = self._function(*positional, **named)
        self._calls.append(RecordedCall(self._name, positional, dict(named), result))
        return result

    def __getattr__(self, name: str) -> Any:
        return getattr(self._function, name)


def parts_of(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every part of a result that is no tuple or list, with its path: `[1][0]`."""
    if isinstance(value, tuple | list):
        for index, part in enumerate(value):
            yield from parts_of(part, f"{path}[{index}]")
    else:
        yield path, value
