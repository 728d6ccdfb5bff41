"""Count what one call does: tensor operations, lines of Python, values that leave torch, multiply-adds, memory.

torch's profiler counts operations in C++, in all threads, below all that Python code can switch off in passing. A trace
function counts the lines of Python that run. A dispatch mode sees arguments and results, where products are counted;
then it and the profiler must tell the same. Whatever else touches these witnesses during the call is noted, and they
must see operations of our own before and after it; else the counts mean nothing, and `Counts.tampered` says why.
Multiply-adds are counted here and not by `torch.utils.flop_counter`: importing that takes 0.7 s.
"""

from __future__ import annotations

import _thread
import math
import os
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from functools import cache, partial
from itertools import accumulate
from pathlib import Path
from types import FrameType, ModuleType
from typing import Any

import torch
from torch import Tensor, _tensor_str
from torch._C import _autograd, _profiler
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from trainer.running.protocol import Counts

aten = torch.ops.aten
_PRODUCTS = {aten.mm: (0, 1), aten.bmm: (0, 1), aten.addmm: (1, 2), aten.baddbmm: (1, 2), aten.addbmm: (1, 2)}
_WITH_A_VECTOR = {aten.mv: 0, aten.dot: 0, aten.vdot: 0, aten.addmv: 1}
# Operations on several tensors that move, choose or add entries and multiply none. Every other operation on two
# tensors counts as a product of its entries.
_NO_PRODUCTS = frozenset(
    "add add_ sub sub_ rsub cat stack where copy copy_ masked_fill masked_fill_ masked_scatter masked_scatter_ index index_put "
    "index_put_ index_add index_copy index_select index_fill gather scatter scatter_ scatter_add scatter_add_ scatter_reduce "
    "select_scatter slice_scatter diagonal_scatter maximum minimum fmax fmin clamp clamp_ eq ne lt le gt ge eq_ ne_ lt_ le_ gt_ ge_ "
    "logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor bitwise_and_ bitwise_or_ embedding take "
    "searchsorted bucketize equal isclose expand_as view_as reshape_as type_as set_ resize_as_ _local_scalar_dense lift_fresh "
    "dropout native_dropout bernoulli bernoulli_ masked_select nonzero put_ put complex view_as_complex".split()
)
_CONVOLUTIONS = ("convolution", "convolution_overrideable", "mkldnn_convolution", "_slow_conv2d_forward", "slow_conv3d_forward", "_nnpack_spatial_convolution")
# torch makes one view for each piece, but it is no loop of the learner's.
_TAKES_APART = frozenset(f"aten::{name}" for name in ("tensor_split", "hsplit", "vsplit", "dsplit"))
_DISPATCHED = "PythonDispatchMode"  # the profiler's name for an operation that a dispatch mode has seen
_CANARY = "aten::bitwise_left_shift"  # no attention has a use for it
_LEAVES_TORCH = tuple(
    getattr(Tensor, name)
    for name in ("tolist", "numpy", "__array__", "__dlpack__", "untyped_storage", "storage", "_typed_storage", "data_ptr")
    if hasattr(Tensor, name)
)


_ENTERS_TORCH = tuple(
    getattr(torch, name)
    for name in ("tensor", "as_tensor", "asarray", "from_numpy", "frombuffer", "from_dlpack", "from_file", "scalar_tensor", "full")
    if hasattr(torch, name)
)


class Counter(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's __init_subclass__ has no types
    """While active, counts every dispatched operation of this thread.

    operations  how many
    detached    how many of them autograd made in passing, to save a result: the profiler does not see these
    largest     entries of the largest tensor that an operation made (views of existing memory are not fresh)
    flops       2 per multiply-add, of every operation that multiplies
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # nor has its __init__
        self.operations = 0
        self.detached = 0
        self.largest = 0
        self.flops = 0

    def count(self, largest: int, flops: int, *, detached: bool = False) -> None:
        """Count an operation."""
        self.operations += 1
        self.detached += detached
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
        made = tensors_in(result)
        # An argument may have grown: `out=`, resize_.
        memory = ((_memory(tensor), tensor) for tensor in (*made, *given))
        largest = max((place[1] // tensor.element_size() for place, tensor in memory if place not in old), default=0)
        self.count(largest, _flops(func.overloadpacket, args, given, made), detached=func.overloadpacket is aten.detach)
        return result


class _OfAThread(Counter):  # type: ignore[no-untyped-call]  # as above
    """Counts for whichever counter is at work when an operation comes."""

    def count(self, largest: int, flops: int, *, detached: bool = False) -> None:
        """Count an operation of any thread."""
        if _at_work is not None:
            _at_work.count(largest, flops, detached=detached)


_at_work: Counter | None = None


@contextmanager
def counted_by(counter: Counter) -> Iterator[None]:
    """Count in this thread, and in all that `count_in_threads` knows of, whenever they were started."""
    global _at_work
    _at_work = counter
    try:
        with counter:
            yield
    finally:
        _at_work = None


class _Leaving(TorchFunctionMode):
    """While active, counts the entries of tensors that leave torch as plain data, and those that come back from outside."""

    def __init__(self) -> None:
        super().__init__()
        self.entries = 0
        self.entered = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the function."""
        if args and isinstance(args[0], Tensor) and any(func is leaving for leaving in _LEAVES_TORCH):
            self.entries += args[0].numel()
        result = func(*args, **(kwargs or {}))
        if isinstance(result, Tensor) and any(func is entering for entering in _ENTERS_TORCH):
            self.entered += result.numel()
        return result


_LIBRARIES = tuple(
    {
        os.path.join(os.path.realpath(folder), "")
        for folder in (*(sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")), str(Path(__file__).resolve().parents[1]))
    }
    | {os.path.join(sysconfig.get_path(name), "") for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    | {"<frozen "}
)
_taken_names: set[str] = set()  # names of libraries' files under which a submission has compiled code of its own
_STARTS_THREADS = threading.Thread._bootstrap_inner.__code__  # type: ignore[attr-defined]  # private; it sets what `threading.settrace` was given
_touched: list[str] = []  # the witnesses that somebody else has touched, in the order in which it happened
_PROFILER = "torch's profiler was switched off"
_CONTROLS = ("_enable_record_function", "_disable_profiler", "_enable_profiler", "_prepare_profiler", "_disable_profiler_legacy", "_enable_profiler_legacy")
_control = {name: getattr(_autograd, name) for name in _CONTROLS if hasattr(_autograd, name)}


def guard() -> None:
    """Note from here on who touches a witness, or compiles code under a library's name. Cannot be undone.

    Call it once, before any code that may keep the names of these functions.
    """
    sys.addaudithook(_note)
    _leave_printing_out()
    guarded = {id(control): _guarded(control) for control in _control.values()}
    for module in list(sys.modules.values()):
        if type(module) is ModuleType and module.__name__.startswith("torch"):
            for name, value in list(vars(module).items()):
                if id(value) in guarded:
                    setattr(module, name, guarded[id(value)])


def _leave_printing_out() -> None:
    """Have the profiler not count what torch does to print a tensor: it takes an operation or more for each entry.

    torch leaves dispatch modes out in the same place.
    """
    printed = _tensor_str._str

    def print_unseen(tensor: Any, **named: Any) -> str:
        if type(tensor) not in (Tensor, torch.nn.Parameter):
            return printed(tensor, **named)
        _control["_enable_record_function"](False)
        try:
            return printed(tensor, **named)
        finally:
            _control["_enable_record_function"](True)

    _tensor_str._str = print_unseen


def _guarded(control: Callable[..., Any]) -> Callable[..., Any]:
    def touched(*given: Any, **named: Any) -> Any:
        _touched.append(_PROFILER)
        return control(*given, **named)

    return touched


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("sys.settrace", "sys.setprofile"):
        caller = sys._getframe(1).f_code
        if caller is not _STARTS_THREADS and caller.co_filename != __file__:
            _touched.append("the function that counts lines was replaced")
    elif event in ("compile", "code.__new__"):
        name = arguments[1]
        if isinstance(name, str) and name.startswith(_LIBRARIES) and "importlib" not in sys._getframe(1).f_code.co_filename:
            _taken_names.add(name)


class _Lines:
    """While active, counts the lines that run of all code that is no library's, in all threads that Python starts."""

    def __init__(self) -> None:
        self.count = 0
        self._known: dict[str, bool] = {}

    def __enter__(self) -> _Lines:
        self._before = sys.gettrace()
        threading.settrace(self.trace)
        sys.settrace(self.trace)
        return self

    def __exit__(self, *unused: object) -> None:
        self.left_alone = sys.gettrace() == self.trace
        sys.settrace(self._before)
        threading.settrace(None)

    def trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Count what Python tells: a call, and each line of it."""
        name = frame.f_code.co_filename
        if name not in self._known:
            self._known[name] = name.startswith(_LIBRARIES)
        if self._known[name] and name not in _taken_names:
            return None
        if event in ("call", "line"):
            self.count += 1
        return self.trace


def observe(call: Callable[[], Any], *, products: bool = True) -> tuple[Any, Counts]:
    """Make a call and count what it does.

    Args:
        call: makes one call of the learner's code. What it raises is raised again, and nothing is told then.
        products: whether multiply-adds and the largest tensor are counted too, which takes three times as long.

    Returns:
        What the call returns, and the counts.
    """
    counter, leaving, tracing = Counter(), _Leaving(), _Lines()
    before, after = (2 + os.urandom(1)[0] % 4 for _ in range(2))
    _touched.clear()
    _start_profiler(memory=False)
    events: list[Any] = []
    try:
        _sing(before)
        with counted_by(counter) if products else nullcontext(), leaving, tracing:
            result = call()
            _lines_canary()
        _sing(after)
    finally:
        events = _stop_profiler()
    canaries = [event for event in events if event.name == _CANARY]
    # Threads of the learner's may be at work at any time; the canaries are the first and the last of this thread.
    mine = [event for event in events if canaries and event.start_tid == canaries[0].start_tid]
    told = _told([event for event in events if event.name != _CANARY])
    trouble = next(iter(_touched), "")
    if not trouble and not (_are_canaries(mine[:before], before) and _are_canaries(mine[-after:], after)):
        trouble = _PROFILER
    if not trouble and told.dispatched < counter.operations - counter.detached:
        trouble = f"{counter.operations - counter.detached} operations were dispatched, of which torch's profiler saw {told.dispatched}"
    if not trouble and not (tracing.left_alone and tracing.count >= _CANARY_LINES):
        trouble = "the function that counts lines was replaced"
    counts = Counts(
        operations=told.operations,
        lines=max(0, tracing.count - _CANARY_LINES),
        left=leaving.entries,
        entered=leaving.entered,
        flops=counter.flops,
        largest=counter.largest,
        tampered=trouble,
    )
    return result, counts


def observe_largest(call: Callable[[], Any]) -> tuple[Any, Counts]:
    """Make a call and count the largest tensor, with the dispatch mode alone: the profiler takes three times as long.

    `observe_memory` and the kernel are the other witnesses of memory.
    """
    counter = Counter()
    with counted_by(counter):
        result = call()
        before = counter.operations
        _sing(1)
    trouble = "" if counter.operations == before + 1 else "the dispatch mode that counts was switched off"
    return result, Counts(operations=before, flops=counter.flops, largest=counter.largest, tampered=trouble)


def observe_memory(call: Callable[[], Any]) -> tuple[Any, Counts]:
    """Make a call and count the bytes of tensors that are alive at once, as torch's allocator tells.

    Tensors of this thread alone; the kernel tells of all memory, when the worker has ended.
    """
    _touched.clear()
    _start_profiler(memory=True)
    events: list[Any] = []
    try:
        _control["_enable_record_function"](False)  # the allocator tells all the same, and operations take half as long
        canary = torch.empty(_CANARY_BYTES, dtype=torch.uint8)
        del canary
        result = call()
        canary = torch.empty(_CANARY_BYTES, dtype=torch.uint8)  # noqa: F841  # alive when the profiler is stopped
    finally:
        _control["_enable_record_function"](True)
        events = _stop_profiler()
    sizes = list(_allocations(events))
    trouble = next(iter(_touched), "")
    if not trouble and not (sizes[:2] == [_CANARY_BYTES, -_CANARY_BYTES] and sizes[-1:] == [_CANARY_BYTES]):
        trouble = _PROFILER
    alive = max(accumulate(sizes[2:-1]), default=0)
    return result, Counts(alive=max(0, alive), tampered=trouble)


def _allocations(events: list[Any]) -> Iterator[int]:
    """Yield the bytes of every allocation, in order; those that are given back are negative."""
    waiting = list(reversed(events))
    while waiting:
        event = waiting.pop()
        if event.name == "[memory]":
            yield event.extra_fields.alloc_size
        else:
            waiting += reversed(event.children)


def _start_profiler(*, memory: bool) -> None:
    options = _profiler._ExperimentalConfig(profile_all_threads=not memory)
    config = _profiler.ProfilerConfig(_profiler.ProfilerState.KINETO, False, memory, False, False, False, options)
    activities = {_profiler.ProfilerActivity.CPU}
    for _ in range(2):
        try:
            _control["_prepare_profiler"](config, activities)
            _control["_enable_profiler"](config, activities)
        except RuntimeError:  # the learner's own profiler was left on: it makes room for ours
            _control["_disable_profiler"]()
        else:
            return


def _stop_profiler() -> list[Any]:
    """Return the profiler's events; none where it is no longer at work."""
    try:
        events: list[Any] = _control["_disable_profiler"]().experimental_event_tree()
    except RuntimeError:
        return []
    return events


_CANARY_BYTES = 4_321
_SINGER = torch.ones((), dtype=torch.int64)
_CANARY_LINES = 4  # a call and its lines


def _sing(times: int) -> None:
    """Do operations that the profiler must see."""
    for _ in range(times):
        torch.bitwise_left_shift(_SINGER, _SINGER)


_canary_names: dict[str, Any] = {}
exec(compile("def run():\n    a = 1\n    a = 2\n    a = 3\n", "<canary>", "exec"), _canary_names)
_lines_canary: Callable[[], None] = _canary_names["run"]


class _Told:
    """What the profiler's events come to."""

    def __init__(self) -> None:
        self.operations = self.dispatched = 0


def _told(events: list[Any]) -> _Told:
    told = _Told()
    waiting = [(event, False) for event in reversed(events)]
    while waiting:
        event, inside = waiting.pop()
        name = event.name
        children = event.children
        if name == _DISPATCHED:
            told.dispatched += 1
        if inside:
            pass
        elif name == _DISPATCHED or name in _TAKES_APART or (not _was_dispatched(event) and _has_kernel(name)):
            told.operations += 1
            inside = True
        waiting += [(child, inside) for child in reversed(children)]
    return told


def _was_dispatched(event: Any) -> bool:
    """Return whether a dispatch mode has seen some part of an operation."""
    return any(child.name == _DISPATCHED or _was_dispatched(child) for child in event.children)


@cache
def _has_kernel(name: str) -> bool:
    """Return whether an operation computes something itself, and is not only made of others."""
    keys = ("CPU", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")
    return any(torch._C._dispatch_has_kernel_for_dispatch_key(overload, key) for overload in _overloads().get(name, ()) for key in keys)


@cache
def _overloads() -> dict[str, list[str]]:
    """Return the full names of all operations by the names that the profiler gives them."""
    found: dict[str, list[str]] = {}
    for name in torch._C._dispatch_get_all_op_names():
        found.setdefault(name.partition(".")[0], []).append(name)
    return found


def _are_canaries(events: list[Any], count: int) -> bool:
    """Return whether these events are our own operations."""
    return [event.name for event in events] == [_CANARY] * count


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
        if _at_work is not None and sys.gettrace() is None:
            sys.settrace(threading.gettrace())
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


def _flops(packet: Any, args: Any, given: list[Tensor], made: list[Tensor]) -> int:
    """Return 2 per multiply-add of an operation; for operations without a formula, from the size of what it reads and makes."""
    if packet in _PRODUCTS:
        left, right = (args[place] for place in _PRODUCTS[packet])
        return int(2 * left.numel() * right.shape[-1])
    if packet in _WITH_A_VECTOR:
        return int(2 * args[_WITH_A_VECTOR[packet]].numel())
    name = packet.__name__
    if name in _CONVOLUTIONS and made:
        weight = args[1]
        return int(2 * made[0].numel() * math.prod(weight.shape[1:]))
    if name == "_trilinear":
        return 2 * _trilinear_entries(*args[:6])
    several = [tensor for tensor in given if tensor.dim()]
    if name in _NO_PRODUCTS or len(several) < 2:
        return 0
    return 2 * max(tensor.numel() for tensor in (*several, *made))


def _trilinear_entries(first: Tensor, second: Tensor, third: Tensor, *expanded: Any) -> int:
    """Return how many products of three entries are summed: each tensor has axes of size 1 where the others have more."""
    shapes = []
    for tensor, axes in zip((first, second, third), expanded, strict=True):
        shape = list(tensor.shape)
        for axis in sorted(axes):
            shape.insert(axis, 1)
        shapes.append(shape)
    return math.prod(max(sizes) for sizes in zip(*shapes, strict=True))
