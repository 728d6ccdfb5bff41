"""Record the calls that `drive` makes in a case, with their arguments and the right results."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import torch
from torch import Tensor, nn

from trainer.grading.case_set import CaseSet
from trainer.worker.arguments import Wrapped
from trainer.worker.execution import (
    Given,
    build,
    functions_of,
    lay_out,
    leaves,
    map_leaves,
    set_functions,
)
from trainer.worker.protocol import DTYPES


@dataclass(frozen=True)
class RecordedCall:
    """One call of the reference.

    Attributes:
        name: the function that was called; "" for the module, and for the only function of the
            challenge.
        positional, named: the arguments.
        result: the right result.
        was_training, is_training: whether the module was in training mode before the call and
            after it.
    """

    name: str
    positional: tuple[Any, ...]
    named: Mapping[str, Any]
    result: Any
    was_training: bool = False
    is_training: bool = False


@dataclass(frozen=True)
class RecordedCalls:
    """All calls of a case.

    Attributes:
        calls: the calls in order.
        inputs: the tensors of the case, by name, in the memory layout of the case.
        outputs: the outputs that `drive` made from the results.
        module: the reference's module; None for functions.
        gradients: the gradients that the parameters of the module had before the first call.
    """

    calls: tuple[RecordedCall, ...]
    inputs: Mapping[str, Tensor]
    outputs: Mapping[str, Any]
    module: nn.Module | None
    gradients: Mapping[str, Tensor]


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
        ties=case_set.ties,
    )
    module = implementation if isinstance(implementation, nn.Module) else None
    if module is not None and not case.initial:
        own = dict(module.named_parameters())
        with torch.no_grad():
            for name, value in prepared.parameters.items():
                own[name].copy_(value)

    def laid_out(name: str, tensor: Tensor) -> Tensor:
        return lay_out(tensor, case.layout.get(name.partition("[")[0]))

    inputs = map_leaves(prepared.inputs, laid_out)
    recorder = _Recorder(module)
    with torch.no_grad():
        outputs = content.drive(
            recorder.watched(implementation, challenge.entry), Given(inputs, case.sizes)
        )
    return RecordedCalls(
        tuple(recorder.calls), dict(leaves(inputs)), outputs, module, recorder.gradients
    )


class _Recorder:
    """Note the calls of a module, and of functions.

    Args:
        module: the module, whose mode and gradients are noted too; None if there is none.
    """

    def __init__(self, module: nn.Module | None) -> None:
        self._module = module
        self.calls: list[RecordedCall] = []
        self.gradients: dict[str, Tensor] = {}

    def watched(self, implementation: Any, entry: Sequence[str]) -> Any:
        """Return an object that `drive` can call like the implementation."""
        if isinstance(implementation, SimpleNamespace):
            return SimpleNamespace(**self._functions(implementation))
        if self._module is not None and len(entry) > 1:
            set_functions(self._module, self._functions(functions_of(self._module)))
        return _Watched("", implementation, self.call)

    def _functions(self, functions: SimpleNamespace) -> dict[str, _Watched]:
        return {
            name: _Watched(name, function, self.call) for name, function in vars(functions).items()
        }

    def call(self, name: str, function: Any, *positional: Any, **named: Any) -> Any:
        """Call a function and note the call."""
        if not self.calls and self._module is not None:
            self.gradients = {
                name: parameter.grad.clone()
                for name, parameter in self._module.named_parameters()
                if parameter.grad is not None
            }
        was_training = self._is_training
        result = function(*positional, **named)
        self.calls.append(
            RecordedCall(name, positional, named, result, was_training, self._is_training)
        )
        return result

    @property
    def _is_training(self) -> bool:
        return self._module is not None and self._module.training


class _Watched(Wrapped):
    """A callable whose calls are noted."""

    def __init__(self, name: str, target: Any, note: Callable[..., Any]) -> None:
        super().__init__(target)
        self._name, self._note = name, note

    def __call__(self, *positional: Any, **named: Any) -> Any:
        return self._note(self._name, self._target, *positional, **named)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._target, name)


def parts_of(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every part of a result that is no tuple or list, with its path: `[1][0]`."""
    if isinstance(value, tuple | list):
        for index, part in enumerate(value):
            yield from parts_of(part, f"{path}[{index}]")
    else:
        yield path, value
