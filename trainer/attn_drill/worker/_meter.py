"""Count the cost of one call: tensor operations, lines of Python, products, memory.

A dispatch mode of torch sees every operation of this thread, below `vmap`, `einsum` and compiled
functions. The counts are evidence about honest code and not proof: code that wants to hide its
work can do so, for example in a thread.
"""

from __future__ import annotations

import gc
import math
import sys
import weakref
from collections.abc import Callable, Sequence
from itertools import zip_longest
from types import FrameType
from typing import Any, TypeVar

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from attn_drill.worker.protocol import RunCost
from attn_drill.worker.torch_private import DispatchMode, storage_id

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
    shapes = [tensor.shape for tensor in tensors_in(arguments) if tensor.dim()]
    # A product with one number is no product of tensors.
    if (name in _OF_TWO and len(shapes) > 1) or (name in _OF_ONE and shapes):
        # `torch.broadcast_shapes` would import torch's symbolic shapes, which takes 0.5 s.
        axes = zip_longest(*(reversed(shape) for shape in shapes), fillvalue=1)
        return 2 * math.prod(0 if 0 in sizes else max(sizes) for sizes in axes)
    return 0


def tensors_in(value: Any) -> list[Tensor]:
    """Return the strided tensors in nested lists, tuples and dicts, in order."""
    tensors: list[Tensor] = []
    waiting = [value]
    opened: set[int] = set()  # a list may contain itself
    while waiting:  # a recursion would take twice as long
        part = waiting.pop()
        if isinstance(part, Tensor):
            if part.layout is torch.strided:
                tensors.append(part)
        elif isinstance(part, (list, tuple, dict)) and id(part) not in opened:
            opened.add(id(part))
            waiting.extend(reversed([*(part.values() if isinstance(part, dict) else part)]))
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
