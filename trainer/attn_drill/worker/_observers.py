"""Observe one call from inside torch: count its cost, or record the results of its lines.

A dispatch mode of torch sees every operation of this thread, below `vmap`, `einsum` and compiled
functions. The counts and records are evidence about honest code and not proof: code that wants to
hide its work can do so, for example in a thread.

`Meter` counts tensor operations, products and memory. `Recorder` records the results of each line
of a file, with the lines and the results they were made from. A trace of the file's own frames
records Python numbers and returned values.
"""

from __future__ import annotations

import gc
import math
import sys
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import zip_longest
from types import FrameType
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from attn_drill.worker.protocol import RunCost, Step, cap
from attn_drill.worker.torch_private import DispatchMode, is_inside_transform, storage_id

T = TypeVar("T")

# Name of a product of matrices or vectors -> the places of the two factors among its arguments.
_PRODUCTS = {
    **dict.fromkeys(("mm", "bmm", "mv", "dot", "vdot"), (0, 1)),
    **dict.fromkeys(("addmm", "addmm_", "baddbmm", "baddbmm_", "addbmm", "addmv"), (1, 2)),
}
# Operations that multiply the entries of two tensors, for example in `(q * k).sum(-1)`.
_OF_TWO = frozenset("mul mul_ div div_ addcmul addcmul_ lerp lerp_".split())
_OF_ONE = frozenset("square square_ pow pow_ prod cumprod".split())
_LEAVING = frozenset(
    "tolist numpy __array__ __dlpack__ item __float__ __int__ __index__ apply_ map_".split()
)
_ENTERING = frozenset(
    "tensor as_tensor asarray from_numpy frombuffer from_dlpack new_tensor apply_ map_ "
    "lift_fresh".split()
)
_MOST_DEPTH = 200  # frames that are searched

MOST_STEPS = 2_500
MOST_BYTES = 16 << 20
MOST_STEP_BYTES = 1 << 20
_MOST_NUMBER = 1 << 62
# The numbers of other operations are sizes and axes.
_WITH_NUMBERS = frozenset(
    "add add_ sub sub_ rsub mul mul_ div div_ pow pow_ masked_fill masked_fill_ where full fill "
    "fill_ full_like clamp clamp_ clamp_min clamp_max maximum addmm baddbmm native_layer_norm "
    "floor_divide remainder tril triu".split()
)
_OWN_GRADIENT = torch.autograd.Function.apply.__func__.__code__  # type: ignore[attr-defined]  # a classmethod


class Meter(DispatchMode):
    """Counts the dispatched operations of this thread while active. `RunCost` has the units.

    `alive` is the bytes of new tensors that are alive now, and `peak` the most of them at once.
    """

    def __init__(self) -> None:
        super().__init__()
        self.operations = self.flops = self.matrix_flops = 0
        self.largest = self.alive = self.peak = 0

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operation and count it."""
        inputs = tensors_in((args, kwargs))
        before = {(storage_id(tensor), tensor.untyped_storage().nbytes()) for tensor in inputs}
        result = func(*args, **(kwargs or {}))
        self.count(func.overloadpacket.__name__, args)
        # The operation may have made an argument larger: `out=`, resize_.
        for tensor in (*tensors_in(result), *inputs):
            storage = tensor.untyped_storage()
            if (memory := (storage_id(tensor), storage.nbytes())) not in before:
                before.add(memory)
                self.largest = max(self.largest, storage.nbytes() // tensor.element_size())
                self.hold(tensor, self._release)
        return result

    def count(self, name: str, arguments: Sequence[Any]) -> None:
        """Count an operation and its products."""
        self.operations += 1
        flops = flops_of(name, arguments)
        self.flops += flops
        self.matrix_flops += flops if name in _PRODUCTS else 0

    def hold(self, tensor: Tensor, release: Callable[..., None], *about: Any) -> bool:
        """Count the memory of a new tensor until it is freed.

        Args:
            release: is called with the bytes and with `about` when the memory is freed.
            about: further arguments of `release`.

        Returns:
            True if more bytes are alive than ever before.
        """
        storage = tensor.untyped_storage()
        size = storage.nbytes()
        self.alive += size
        if self.alive > self.peak:
            # torch's own Python code makes reference cycles that hold tensors. In a worker, the
            # garbage collector does not run by itself.
            gc.collect(0)
        weakref.finalize(storage, release, size, *about).atexit = False
        if self.alive <= self.peak:
            return False
        self.peak = self.alive
        return True

    def _release(self, size: int) -> None:
        self.alive -= size


class _Transfers(TorchFunctionMode):
    """Counts the entries that leave torch as plain data, and those that enter torch."""

    def __init__(self) -> None:
        super().__init__()
        self.left = self.entered = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the function and count."""
        name = getattr(func, "__name__", "").partition(".")[0]
        if name in _LEAVING and args and isinstance(args[0], Tensor):
            self.left += args[0].numel()
        result = func(*args, **(kwargs or {}))
        if name in _ENTERING and isinstance(result, Tensor):
            self.entered += result.numel()
        return result


def measured(call: Callable[[], T], path: str) -> tuple[T, RunCost]:
    """Make one call of the learner's code; return its result and its cost.

    Args:
        path: the path of the learner's file, whose lines are counted.
    """
    meter, transfers, lines = Meter(), _Transfers(), 0

    def trace(frame: FrameType, event: str, argument: Any) -> Any:
        nonlocal lines
        if frame.f_code.co_filename != path:
            return None
        if event in ("call", "line"):  # a lambda on one line has only calls
            lines += 1
        return trace

    before = sys.gettrace()
    with transfers, meter:
        sys.settrace(trace)
        try:
            result = call()
        finally:
            sys.settrace(before)
    cost = RunCost(
        operations=meter.operations,
        lines=lines,
        left=transfers.left,
        entered=transfers.entered,
        flops=meter.flops,
        matrix_flops=meter.matrix_flops,
        largest=meter.largest,
        peak_bytes=meter.peak,
    )
    return result, cost


def flops_of(name: str, arguments: Sequence[Any]) -> int:
    """Return 2 for each multiply-add of a dispatched operation.

    A product of matrices has one multiply-add for each entry of the left factor and each column of
    the right factor. A product of entries has one for each entry of its result.

    Args:
        name: torch's name of the operation, for example `bmm`.

    >>> flops_of("mm", (torch.ones(2, 3), torch.ones(3, 5)))
    60
    >>> flops_of("mul", (torch.ones(2, 3), torch.ones(3)))
    12
    >>> flops_of("add", (torch.ones(2, 3), torch.ones(3)))
    0
    """
    if name in _PRODUCTS:
        left, right = (arguments[place] for place in _PRODUCTS[name])
        columns = right.shape[-1] if right.dim() > 1 else 1
        return int(2 * left.numel() * columns)
    if name not in _OF_TWO and name not in _OF_ONE:
        return 0
    shapes = [tensor.shape for tensor in tensors_in(arguments) if tensor.dim()]
    # A product with one number is no product of tensors.
    if len(shapes) > (1 if name in _OF_TWO else 0):
        # `torch.broadcast_shapes` would import torch's symbolic shapes, which takes 0.5 s.
        axes = zip_longest(*(reversed(shape) for shape in shapes), fillvalue=1)
        return 2 * math.prod(0 if 0 in sizes else max(sizes) for sizes in axes)
    return 0


class Recorder(DispatchMode):
    """Records the operations of this thread while active. Can be entered several times.

    Args:
        names: if Python is traced too, for the names of results, for numbers and for returned
            values. The trace takes as long again as the rest.
        gradients: if gradients are on, and the steps that cut gradients off are marked.

    Attributes:
        steps: the operations, without the ids of their results.
        values: for each step a contiguous copy of its result, complex numbers as pairs; None if the
            result is too large or the record is full.
    """

    def __init__(self, path: str, *, names: bool = True, gradients: bool = False) -> None:
        super().__init__()
        self.steps: list[Step] = []
        self.values: list[Tensor | None] = []
        self._path, self._names, self._gradients = path, names, gradients
        self._alive: list[Tensor] = []  # so that no memory is used twice
        self._makers: dict[object, int] = {}
        self._whole: dict[int, Tensor] = {}  # by storage: the first tensor in it
        self._input_steps: dict[int, int] = {}  # storage -> step
        self._bytes = 0
        self._at_rest = False  # True while this class itself works on tensors
        # By the id of a frame: its line, and the values that its names were bound to.
        self._locals: dict[int, tuple[int, dict[str, object]]] = {}
        self._traced: Any = None

    def __enter__(self) -> Recorder:
        super().__enter__()  # type: ignore[no-untyped-call]  # torch's method has no types
        if self._names:
            self._traced = sys.gettrace()
            sys.settrace(self._trace)
        return self

    def __exit__(self, *error: Any) -> None:
        if self._names:
            sys.settrace(self._traced)
        super().__exit__(*error)  # type: ignore[no-untyped-call]  # as above

    def add_inputs(self, inputs: Mapping[str, Tensor]) -> None:
        """Record tensors as given. Forget the steps that made the tensors before."""
        for name, tensor in inputs.items():
            storage = _storage(tensor)
            self._input_steps[storage] = len(self.steps)
            self._add((), f"input {name}", tensor, (), storage)

    def step_of(self, tensor: Tensor) -> int:
        """Return the index of the step that made a tensor.

        Returns:
            -1 if the step was not recorded, or if the tensor is a tensor of vmap.
        """
        if is_inside_transform(tensor):
            return -1
        storage = _storage(tensor)
        return self._makers.get(_view(tensor, storage), self._makers.get(storage, -1))

    def mark_used(self, tensors: Iterable[Tensor]) -> None:
        """Mark the detached tensors among these as cut off, because they are used or returned.

        A `detach` alone is no sign of a cut: autograd itself detaches the tensors that it saves,
        and does not use the detached tensors.
        """
        for tensor in tensors:
            if (
                not tensor.requires_grad
                and (step := self.step_of(tensor)) >= 0
                and self.steps[step].operation == "detach"
            ):
                self.steps[step].is_cut = self._is_cut_off()

    def _is_cut_off(self) -> bool:
        """Return if a result of this moment lacks its gradient.

        Inside an autograd function with its own gradient, no gradient is recorded, and none lacks.
        """
        frame: FrameType | None = sys._getframe(1)
        while frame is not None and frame.f_code is not _OWN_GRADIENT:
            frame = frame.f_back
        return frame is None

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operation and record what it made."""
        if self._at_rest:
            return func(*args, **(kwargs or {}))
        inputs = _tensors((args, kwargs))
        parents = tuple(
            dict.fromkeys(step for tensor in inputs if (step := self.step_of(tensor)) >= 0)
        )
        lines = lines_of(sys._getframe(1), self._path, 8)
        name = func.overloadpacket.__name__
        numbers = _numbers((*args, *(kwargs or {}).values())) if name in _WITH_NUMBERS else ()
        if self._gradients:
            self.mark_used(inputs)
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
                self._input_steps.get(storage, -1) if writes else -1,
                numbers,
            )
            whole = self._whole[storage] if writes else tensor
            if whole.shape != tensor.shape:  # only a part was written
                self._add(lines, name, whole, (*parents, len(self.steps) - 1), storage)
        return result

    def _add(
        self,
        lines: tuple[int, ...],
        operation: str,
        tensor: Tensor,
        parents: tuple[int, ...],
        storage: int,
        written: int = -1,
        numbers: tuple[float, ...] = (),
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
        step = Step(list(lines), cap(operation, 100), -1, list(parents[:64]))
        step.written, step.entries, step.numbers = written, entries, list(numbers[:8])
        step.is_cut = self._gradients and not torch.is_grad_enabled() and self._is_cut_off()
        self.steps.append(step)
        self.values.append(value)
        self._alive.append(tensor)
        self._makers[_view(tensor, storage)] = self._makers[storage] = len(self.steps) - 1

    def _trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Record bound names and returned values. Called for calls, lines and returns of frames."""
        if frame.f_code.co_filename != self._path:
            return None
        if event == "call":
            self._locals[id(frame)] = frame.f_lineno, _attributes(frame)
        line, names = self._locals.setdefault(id(frame), (frame.f_lineno, {}))
        self._at_rest = True
        try:
            if event in ("line", "return"):
                self._record_bindings(frame, line, names)
                self._locals[id(frame)] = (frame.f_lineno, names)
            if event == "return":
                self._record_return(frame, argument)
                del self._locals[id(frame)]
        finally:
            self._at_rest = False
        return self._trace

    def _record_bindings(self, frame: FrameType, line: int, names: dict[str, object]) -> None:
        """Record the names that the line before has bound."""
        lines = (line, *lines_of(frame.f_back, self._path, 7))
        for name, value in (*frame.f_locals.items(), *_attributes(frame).items()):
            if name in names and names[name] is value:
                continue
            names[name] = value
            if type(value) is Tensor and (step := self.step_of(value)) >= 0:
                if not self.steps[step].name and line in self.steps[step].lines[:2]:
                    self.steps[step].name = cap(name, 100)
            elif type(value) in (int, float):
                self._number(lines, value, name)

    def _number(self, lines: tuple[int, ...], value: float, name: str = "") -> None:
        """Record a Python number, unless the record is full."""
        if len(self.steps) < MOST_STEPS:
            kind = torch.int64 if isinstance(value, int) else torch.float64
            kept = torch.tensor(value, dtype=kind) if abs(value) < _MOST_NUMBER else None
            self.steps.append(Step(list(lines), "number", -1, [], cap(name, 100)))
            self.values.append(kept)

    def _record_return(self, frame: FrameType, value: Any) -> None:
        lines = lines_of(frame, self._path, 8)
        for tensor in _tensors(value):
            if (step := self.step_of(tensor)) >= 0:
                self._add(lines, "return", tensor, (step,), _storage(tensor))
        parts = value.values() if isinstance(value, dict) else value
        for part in parts if isinstance(value, dict | list | tuple) else (value,):
            if type(part) in (int, float):
                self._number(lines, part)


def _attributes(frame: FrameType) -> dict[str, object]:
    """Return the numbers that the object of a method holds, as `self.name`."""
    held = getattr(frame.f_locals.get("self"), "__dict__", {})
    return {f"self.{name}": value for name, value in held.items() if type(value) in (int, float)}


def _numbers(values: Iterable[Any]) -> tuple[float, ...]:
    numbers = [value for value in values if type(value) in (int, float)]
    return tuple(float(value) for value in numbers if abs(value) < _MOST_NUMBER)


def _storage(tensor: Tensor) -> int:
    return tensor.untyped_storage().data_ptr()


def _view(tensor: Tensor, storage: int) -> object:
    return (storage, tensor.storage_offset(), tensor.shape, tensor.stride(), tensor.dtype)


def _tensors(value: Any) -> list[Tensor]:
    """Return the ordinary tensors in nested lists, tuples and dicts."""
    return [
        tensor
        for tensor in tensors_in(value)
        if tensor.is_cpu and not tensor.is_nested and not tensor.is_quantized
    ]


def tensors_in(value: Any, opened: frozenset[int] = frozenset()) -> list[Tensor]:
    """Return the strided tensors in nested lists, tuples and dicts, in order.

    Args:
        opened: the ids of the lists around the value, because a list may contain itself.
    """
    if isinstance(value, Tensor):
        return [value] if value.layout is torch.strided else []
    if not isinstance(value, (list, tuple, dict)) or id(value) in opened:
        return []
    tensors: list[Tensor] = []
    for part in value.values() if isinstance(value, dict) else value:
        if isinstance(part, (Tensor, list, tuple, dict)):  # a call for each number takes long
            tensors += tensors_in(part, opened | {id(value)})
    return tensors


def lines_of(frame: FrameType | None, path: str, most: int) -> tuple[int, ...]:
    """Return the lines of a file that run in a frame and its callers, innermost first."""
    lines: list[int] = []
    for _ in range(_MOST_DEPTH):
        if frame is None or len(lines) == most:
            break
        if frame.f_code.co_filename == path:
            lines.append(frame.f_lineno)
        frame = frame.f_back
    return tuple(lines)
