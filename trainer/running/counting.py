"""Count what an implementation dispatches: operations, the largest fresh tensor, multiply-adds of matrix products.

The multiply-adds are counted here and not by `torch.utils.flop_counter`: importing that takes 0.7 s.
"""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

_TAKE_APART = [getattr(owner, name) for owner in (torch, Tensor) for name in ("tensor_split", "hsplit", "vsplit", "dsplit")]


class Counter(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's __init_subclass__ has no types
    """While active, counts every dispatched operation of this thread.

    operations  how many
    largest     entries of the largest tensor that an operation made (views of existing memory are not fresh)
    flops       2 per multiply-add of mm, addmm, bmm, baddbmm, mv and dot, to which matrix products come down
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # nor has its __init__
        self.operations = 0
        self.largest = 0
        self.flops = 0
        self.taken_apart = False  # while torch takes a tensor apart, piece by piece

    def count(self, largest: int, flops: int) -> None:
        """One operation more."""
        self.operations += 1
        self.largest = max(self.largest, largest)
        self.flops += flops

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """No: to be skipped by dynamo would import it, which takes 0.7 s, and nothing is compiled here."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operation and count it."""
        given = tensors_in((args, kwargs))
        old = {_memory(tensor) for tensor in given}
        result = func(*args, **(kwargs or {}))
        if self.taken_apart and func is torch.ops.aten.slice.Tensor:
            return result
        # An argument may have grown: `out=`, resize_.
        memory = ((_memory(tensor), tensor) for tensor in (*tensors_in(result), *given))
        largest = max((place[1] // tensor.element_size() for place, tensor in memory if place not in old), default=0)
        self.count(largest, _flops(func, args))
        return result


class _TakingApart(TorchFunctionMode):
    """While active, counts a call that takes a tensor apart as one operation, though torch makes a view a piece. Nothing else is spared."""

    def __init__(self, counter: Counter) -> None:
        super().__init__()
        self._counter = counter

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the function."""
        if self._counter.taken_apart or not any(func is one for one in _TAKE_APART):
            return func(*args, **(kwargs or {}))
        self._counter.count(0, 0)
        self._counter.taken_apart = True
        try:
            return func(*args, **(kwargs or {}))
        finally:
            self._counter.taken_apart = False


class _OfAThread(Counter):  # type: ignore[no-untyped-call]  # as above
    """Counts for whichever counter is at work when an operation comes."""

    def count(self, largest: int, flops: int) -> None:
        """One operation more, of all threads."""
        if _at_work is not None:
            _at_work.count(largest, flops)


_at_work: Counter | None = None


@contextmanager
def counted_by(counter: Counter) -> Iterator[None]:
    """Count in this thread, and in all that `count_in_threads` knows of, whenever they were started."""
    global _at_work
    _at_work = counter
    try:
        with counter, _TakingApart(counter):
            yield
    finally:
        _at_work = None


def count_in_threads() -> None:
    """From here on every thread that Python starts, by whatever name, counts for `counted_by`. Call it once, before any code that may keep those names."""
    for name in ("start_new_thread", "start_new", "start_joinable_thread"):  # the last from Python 3.13 on
        if (start := getattr(_thread, name, None)) is not None:
            counted = partial(_start_counted, start)
            setattr(_thread, name, counted)
            if hasattr(threading, f"_{name}"):
                setattr(threading, f"_{name}", counted)


def _start_counted(start: Callable[..., Any], function: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    def run(*given: Any, **named: Any) -> Any:
        with _OfAThread():
            return function(*given, **named)

    return start(run, *args, **kwargs)


def _memory(tensor: Tensor) -> tuple[int, int]:
    storage = tensor.untyped_storage()
    return storage.data_ptr(), storage.nbytes()


def tensors_in(value: Any) -> list[Tensor]:
    """The strided tensors in nested lists, tuples and dicts."""
    found: list[Tensor] = []
    waiting = [value]
    opened: set[int] = set()  # a list may hold itself
    while waiting:  # for every operation: a recursion would take twice as long
        one = waiting.pop()
        if isinstance(one, Tensor):
            if one.layout is torch.strided:
                found.append(one)
        elif isinstance(one, (list, tuple, dict)) and id(one) not in opened:
            opened.add(id(one))
            waiting.extend(reversed([*(one.values() if isinstance(one, dict) else one)]))
    return found


def _flops(func: Any, args: Any) -> int:
    packet = func.overloadpacket
    if packet in (torch.ops.aten.mm, torch.ops.aten.bmm):
        left, right = args[0], args[1]
    elif packet in (torch.ops.aten.addmm, torch.ops.aten.baddbmm):
        left, right = args[1], args[2]
    elif packet in (torch.ops.aten.mv, torch.ops.aten.dot):
        return int(2 * args[0].numel())
    else:
        return 0
    return int(2 * left.numel() * right.shape[-1])
