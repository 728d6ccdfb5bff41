"""Record what each line of a file makes: the result of every operation, with the line, and which results it was made from.

Operations are seen where torch dispatches them, so that vmap, einsum and functions of the learner's own are no matter.
Python numbers and returns are seen by tracing the file's own frames; what is computed of given numbers tells it itself.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import FrameType, TracebackType
from typing import Any

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from trainer.worker.counters import tensors_in
from trainer.worker.tracked_numbers import TrackedNumber, followed

MOST_STEPS = 2_500
MOST_BYTES = 16 << 20
MOST_STEP_BYTES = 1 << 20
_MOST_DEPTH = 200  # frames that are looked at for the file's own
_MOST_NUMBER = 1 << 62
_OWN_GRADIENT = torch.autograd.Function.apply.__func__.__code__  # type: ignore[attr-defined]  # it is a classmethod


@dataclass
class RecordedStep:
    """One result.

    lines      the file's own lines at that moment, innermost first; () where the operation is none of the file's
    operation  torch's name of it; `input x`, `return`, or `number` for a Python number
    value      a copy, contiguous; complex numbers as pairs; None where there is no more room
    parents    the steps that it was made from
    name       the variable that it was bound to first, or ""
    entries    how many entries the result has
    cut        whether gradients were off when it was made, or it was detached and is used so
    into       the given tensor whose memory was written, as a step; -1 where none was
    """

    lines: tuple[int, ...]
    operation: str
    value: Tensor | None
    parents: tuple[int, ...]
    name: str = ""
    into: int = -1
    entries: int = 1
    cut: bool = False


class Recorder(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's __init_subclass__ has no types
    """While active, records this thread's operations in `steps`. It may be entered several times.

    Args:
        names: whether Python is traced too, for the names of results, for numbers and returns; that takes as long again.
        gradients: whether gradients are on, and it is looked where they are cut off.
    """

    def __init__(self, path: str, *, names: bool = True, gradients: bool = False) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # nor has its __init__
        self.steps: list[RecordedStep] = []
        self._path, self._names, self._gradients = path, names, gradients
        self._alive: list[Tensor] = []  # so that no memory is used twice
        self._makers: dict[object, int] = {}
        self._whole: dict[int, Tensor] = {}  # by storage: the first tensor in it
        self._given: dict[int, int] = {}  # storage -> step
        self._bytes = 0
        self._at_rest = False  # while this class itself works on tensors
        self._locals: dict[
            int, tuple[int, dict[str, object]]
        ] = {}  # by frame: its line, and what its names were bound to
        self._traced: Any = None

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """No: to be skipped by dynamo would import it, which takes 0.7 s, and nothing is compiled here."""
        return False

    def __enter__(self) -> Recorder:
        super().__enter__()  # type: ignore[no-untyped-call]  # nor has this
        if self._names:
            self._traced = sys.gettrace()
            sys.settrace(self._trace)
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._names:
            sys.settrace(self._traced)
        super().__exit__(kind, error, trace)  # type: ignore[no-untyped-call]  # nor has this

    def give(self, inputs: Mapping[str, Tensor]) -> None:
        """These tensors are given: whatever made them before is forgotten."""
        for name, tensor in inputs.items():
            storage = _storage(tensor)
            self._given[storage] = len(self.steps)
            self._add((), f"input {name}", tensor, (), storage)

    def give_numbers(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        """The same, the numbers among them followed."""
        return {
            name: followed(value, self._number((), value, f"input {name}"), self)
            if type(value) in (int, float)
            else value
            for name, value in inputs.items()
        }

    def computed(self, value: float, parents: Sequence[int]) -> int:
        """A number was computed of numbers that are followed."""
        return self._number(self._lines(), value, parents=tuple(one for one in parents if one >= 0))

    def step_of(self, value: Tensor | TrackedNumber) -> int:
        """The step that made this tensor or number, or -1; of a tensor under vmap nothing is known."""
        if isinstance(value, TrackedNumber):
            return value.step
        tensor = value
        if torch._C._functorch.is_functorch_wrapped_tensor(tensor):
            return -1
        storage = _storage(tensor)
        return self._makers.get(_view(tensor, storage), self._makers.get(storage, -1))

    def used(self, tensors: Iterable[Tensor]) -> None:
        """These are worked on, or returned: what was detached is cut off then. Autograd itself detaches what it saves, and goes on with the rest."""
        for tensor in tensors:
            if (
                not tensor.requires_grad
                and (step := self.step_of(tensor)) >= 0
                and self.steps[step].operation == "detach"
            ):
                self.steps[step].cut = self._is_cut_off()

    def _is_cut_off(self) -> bool:
        """Whether what is made now misses its gradient; in a function that has a gradient of its own, none is recorded."""
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code is not _OWN_GRADIENT:
            frame = frame.f_back
        return frame is None

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operation and record what it made."""
        if self._at_rest:
            return func(*args, **(kwargs or {}))
        given = _tensors((args, kwargs))
        parents = tuple(
            dict.fromkeys(one for tensor in given if (one := self.step_of(tensor)) >= 0)
        )
        lines = self._lines()
        name = func.overloadpacket.__name__
        if self._gradients:
            self.used(given)
        result = func(*args, **(kwargs or {}))
        writes = name.endswith("_")
        for tensor in _tensors(result):
            storage = _storage(tensor)
            self._add(
                lines,
                name,
                tensor,
                parents,
                storage,
                self._given.get(storage, -1) if writes else -1,
            )
            whole = self._whole[storage] if writes else tensor
            if whole.shape != tensor.shape:  # a part was written: the whole has changed
                self._add(lines, name, whole, (*parents, len(self.steps) - 1), storage)
        return result

    def _add(
        self,
        lines: tuple[int, ...],
        operation: str,
        tensor: Tensor,
        parents: tuple[int, ...],
        storage: int,
        into: int = -1,
    ) -> None:
        self._whole.setdefault(storage, tensor)
        if len(self.steps) >= MOST_STEPS:
            return
        entries = tensor.numel()
        size = entries * tensor.element_size()
        value = None
        if size <= MOST_STEP_BYTES and self._bytes + size <= MOST_BYTES:
            self._bytes += size
            plain = torch.view_as_real(tensor.resolve_conj()) if tensor.is_complex() else tensor
            value = plain.detach().clone(memory_format=torch.contiguous_format)
        cut = self._gradients and not torch.is_grad_enabled() and self._is_cut_off()
        self.steps.append(
            RecordedStep(lines, operation, value, parents, into=into, entries=entries, cut=cut)
        )
        self._alive.append(tensor)
        self._makers[_view(tensor, storage)] = self._makers[storage] = len(self.steps) - 1

    def _lines(self) -> tuple[int, ...]:
        found: list[int] = []
        frame: FrameType | None = sys._getframe(2)
        for _ in range(_MOST_DEPTH):
            if frame is None:
                break
            if frame.f_code.co_filename == self._path:
                found.append(frame.f_lineno)
            frame = frame.f_back
        return tuple(found[:8])

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Called by Python for every new frame, then for every line and return of the file's own."""
        if frame.f_code.co_filename != self._path:
            return None
        line, names = self._locals.setdefault(id(frame), (frame.f_lineno, {}))
        self._at_rest = True
        try:
            if event in ("line", "return"):
                self._look(frame, line, names)
                self._locals[id(frame)] = (frame.f_lineno, names)
            if event == "return":
                self._returned(frame, argument)
                del self._locals[id(frame)]
        finally:
            self._at_rest = False
        return self._trace

    def _look(self, frame: FrameType, line: int, names: dict[str, object]) -> None:
        """What the line that has just ended has bound, or set as an attribute of `self`."""
        outer = self._outer_lines(frame)
        for name, value in frame.f_locals.items():
            if name == "self" and type(attributes := getattr(value, "__dict__", None)) is dict:
                for attribute, one in list(attributes.items()):
                    if (
                        type(one) in (int, float)
                        and names.get(key := f"self.{attribute}") is not one
                    ):
                        names[key] = one
                        self._number((line, *outer), one, name=key)
            if name in names and names[name] is value:
                continue
            names[name] = value
            if type(value) is Tensor and (step := self.step_of(value)) >= 0:
                if not self.steps[step].name and line in self.steps[step].lines[:2]:
                    self.steps[step].name = name
            elif isinstance(value, TrackedNumber):
                self._number((line, *outer), value, name=name, parents=(value.step,))
            elif type(value) in (int, float):
                self._number((line, *outer), value, name=name)

    def _number(
        self,
        lines: tuple[int, ...],
        value: Any,
        operation: str = "number",
        name: str = "",
        parents: tuple[int, ...] = (),
    ) -> int:
        """The step of a Python number; -1 where there is no more room."""
        if len(self.steps) >= MOST_STEPS:
            return -1
        before, self._at_rest = self._at_rest, True
        kind = torch.int64 if isinstance(value, int) else torch.float64
        kept = torch.tensor(value, dtype=kind) if abs(value) < _MOST_NUMBER else None
        self._at_rest = before
        self.steps.append(RecordedStep(lines, operation, kept, parents, name))
        return len(self.steps) - 1

    def _returned(self, frame: FrameType, value: Any) -> None:
        lines = (frame.f_lineno, *self._outer_lines(frame))
        for one in _tensors(value):
            if (step := self.step_of(one)) >= 0:
                self._add(lines, "return", one, (step,), _storage(one))
        parts = (
            value.values()
            if isinstance(value, dict)
            else value
            if isinstance(value, list | tuple)
            else (value,)
        )
        for one in parts:
            if isinstance(one, TrackedNumber):
                self._number(lines, one, parents=(one.step,))
            elif type(one) in (int, float):
                self._number(lines, one)

    def _outer_lines(self, frame: FrameType) -> tuple[int, ...]:
        found: list[int] = []
        outer = frame.f_back
        while outer is not None and len(found) < 7:
            if outer.f_code.co_filename == self._path:
                found.append(outer.f_lineno)
            outer = outer.f_back
        return tuple(found)


def _storage(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _view(tensor: Tensor, storage: int) -> object:
    return (storage, tensor.storage_offset(), tensor.shape, tensor.stride(), tensor.dtype)


def _tensors(value: Any) -> list[Tensor]:
    """Ordinary tensors in nested lists, tuples and dicts."""
    return [
        one
        for one in tensors_in(value)
        if one.is_cpu and not one.is_nested and not one.is_quantized
    ]
