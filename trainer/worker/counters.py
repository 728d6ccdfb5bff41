"""Count the work of one call: tensor operations, lines of Python, multiply-adds and memory.

Values that leave torch are counted too.

torch's profiler counts operations and the sizes of their inputs. It does so in C++ and in all
threads, below everything that Python code can easily switch off. A trace function counts the lines
of Python that run.

The counters protect themselves against the submission. Canaries are known operations and lines,
which run before and after the call and must appear in the counts. Code that touches a counter, or
the code of this package, is noted. If a canary is missing or a touch is noted, the counts mean
nothing, and `Counts.tampered` gives the reason.

Multiply-adds are counted here and not with `torch.utils.flop_counter`: its import takes 0.7 s, and
it does not count products that are written as `mul` and `sum`.
"""

from __future__ import annotations

import _thread
import errno
import gc
import math
import os
import signal
import sys
import sysconfig
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cache, partial
from itertools import accumulate
from operator import is_
from pathlib import Path
from types import FrameType, FunctionType, ModuleType, SimpleNamespace
from typing import Any

import msgspec
import torch
import torch.utils.dlpack
from torch import Tensor, _tensor_str
from torch._C import _autograd, _profiler
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode

from trainer.sandbox.environment import QUIET
from trainer.sandbox.readable_files import SITE_NAMES
from trainer.worker.protocol import Counts

Shape = Sequence[int]

os.environ.update(QUIET)

# Name of an operation -> the places of the inputs that are multiplied as matrices.
_PRODUCTS = {"mm": (0, 1), "bmm": (0, 1), "addmm": (1, 2), "baddbmm": (1, 2), "addbmm": (1, 2)}
# Name of an operation -> the place of the input that is multiplied with a vector.
_PRODUCTS_WITH_A_VECTOR = {"mv": 0, "dot": 0, "vdot": 0, "addmv": 1}
# Operations that multiply entries of one input.
_PRODUCTS_OF_ONE_INPUT = frozenset(
    "prod cumprod pow pow_ square scatter_reduce scatter_reduce_ index_reduce "
    "segment_reduce".split()
)
# Operations on one square matrix that multiply matrices.
_PRODUCTS_OF_A_SQUARE = frozenset("linalg_matrix_exp matrix_exp linalg_inv linalg_inv_ex".split())
# Operations on several tensors that only move, choose or add entries. Every other operation on two
# tensors counts as a product of its entries.
_NO_PRODUCTS = frozenset(
    "add add_ sub sub_ rsub cat stack where copy copy_ masked_fill masked_fill_ masked_scatter "
    "masked_scatter_ index index_put index_put_ index_add index_copy index_select index_fill "
    "gather scatter scatter_ scatter_add scatter_add_ select_scatter slice_scatter "
    "diagonal_scatter maximum minimum fmax fmin clamp clamp_ eq ne lt le gt ge eq_ ne_ lt_ le_ gt_ "
    "ge_ logical_and logical_or logical_xor bitwise_and bitwise_or bitwise_xor bitwise_and_ "
    "bitwise_or_ embedding take searchsorted bucketize equal isclose expand_as view_as reshape_as "
    "type_as set_ resize_as_ _local_scalar_dense lift_fresh dropout native_dropout bernoulli "
    "bernoulli_ masked_select nonzero put_ put complex view_as_complex arange fill_".split()
)
_CONVOLUTIONS = (
    "convolution",
    "convolution_overrideable",
    "mkldnn_convolution",
    "_slow_conv2d_forward",
    "slow_conv3d_forward",
    "_nnpack_spatial_convolution",
)
# torch makes one view for each piece, but these operations are not a loop in the learner's code.
_TAKES_APART = frozenset(f"aten::{name}" for name in ("tensor_split", "hsplit", "vsplit", "dsplit"))
# The profiler's names for Python code in place of an operation. The operations inside the code are
# counted instead.
_PYTHON_EVENTS = frozenset({"PythonDispatchMode", "PythonSubclass"})
_CANARY = "aten::bitwise_left_shift"  # no attention needs this operation
_LEAVES_TORCH = tuple(
    getattr(Tensor, name)
    for name in (
        "tolist",
        "numpy",
        "__array__",
        "__dlpack__",
        "untyped_storage",
        "storage",
        "_typed_storage",
        "data_ptr",
        "apply_",
        "map_",
    )
    if hasattr(Tensor, name)
)
_ENTERS_TORCH = tuple(
    getattr(owner, name)
    for owner, names in (
        (
            torch,
            (
                "tensor",
                "as_tensor",
                "asarray",
                "from_numpy",
                "frombuffer",
                "from_dlpack",
                "from_file",
            ),
        ),
        (torch.utils.dlpack, ("from_dlpack",)),
        (Tensor, ("apply_", "map_")),
    )
    for name in names
    if hasattr(owner, name)
)
# By `id`, because a learner's own function may define its own comparison.
_LEAVING, _ENTERING = (
    frozenset(map(id, functions)) for functions in (_LEAVES_TORCH, _ENTERS_TORCH)
)


class Counter(TorchDispatchMode):  # type: ignore[no-untyped-call]  # torch's __init_subclass__ has no types
    """Counts the dispatched operations of this thread while active.

    Attributes:
        operations: the number of operations.
        largest: the entries of the largest tensor that an operation made. Views of existing memory
            do not count.
    """

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]  # as above
        self.operations = 0
        self.largest = 0

    def count(self, largest: int) -> None:
        """Count an operation.

        Args:
            largest: the entries of the largest new tensor that the operation made.
        """
        self.operations += 1
        self.largest = max(self.largest, largest)

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """Return False: True would import dynamo, which takes 0.7 s, and nothing is compiled."""
        return False

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operation and count it."""
        given = tensors_in((args, kwargs))
        old = {_memory(tensor) for tensor in given}
        result = func(*args, **(kwargs or {}))
        # The operation may have made an argument larger: `out=`, resize_.
        memory = ((_memory(tensor), tensor) for tensor in (*tensors_in(result), *given))
        self.count(
            max(
                (place[1] // tensor.element_size() for place, tensor in memory if place not in old),
                default=0,
            )
        )
        return result


class _ThreadCounter(Counter):  # type: ignore[no-untyped-call]  # as above
    """Counts the operations of another thread for the counter that is active at that moment."""

    def count(self, largest: int) -> None:
        """Count an operation of any thread."""
        if _active_counter is not None:
            _active_counter.count(largest)


_active_counter: Counter | None = None


@contextmanager
def counted_by(counter: Counter) -> Iterator[None]:
    """While active, count in this thread and in all threads that `count_in_threads` covers.

    A thread may have been started before.
    """
    global _active_counter
    _active_counter = counter
    try:
        with counter:
            yield
    finally:
        _active_counter = None


class _TransferCounter(TorchFunctionMode):
    """Counts the entries that leave torch as plain data, and those that enter torch, while active.

    Attributes:
        left: the entries of tensors that left torch.
        entered: the entries of tensors that were made from data outside torch.
    """

    def __init__(self) -> None:
        super().__init__()
        self.left = 0
        self.entered = 0

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the function and count."""
        if id(func) in _LEAVING and not _printing and args and isinstance(args[0], Tensor):
            self.left += args[0].numel()
        result = func(*args, **(kwargs or {}))
        if id(func) in _ENTERING and isinstance(result, Tensor):
            self.entered += result.numel()
        return result


def _folders_of_libraries() -> Iterator[str]:
    """Yield the folders of Python's library, of installed packages and of this package."""
    yield from (sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib"))
    # Inside bubblewrap, the packages of the environment are on the path of another Python.
    yield from (path for path in sys.path if os.path.basename(path) in SITE_NAMES)
    yield str(Path(torch.__file__).parents[1])
    yield str(Path(__file__).resolve().parents[1])


_LIBRARIES = tuple(
    {
        os.path.join(path, "")
        for folder in _folders_of_libraries()
        for path in (folder, os.path.realpath(folder))
    }
    | {"<frozen "}
)
# Names of library files under which a submission has compiled its own code.
_taken_names: set[str] = set()
# This private function of `threading` calls `sys.settrace`, if `threading.settrace` was called.
_STARTS_THREADS = threading.Thread._bootstrap_inner.__code__  # type: ignore[attr-defined]
# A sentence for each touch of a counter by other code, in the order of the touches.
_touched: list[str] = []
_PROFILER = "torch's profiler was switched off"
_LINES = "the function that counts lines was replaced"
_OWN_CODE = "the code that counts was changed"
_CONTROLS = (
    "_enable_record_function",
    "_disable_profiler",
    "_enable_profiler",
    "_prepare_profiler",
    "_disable_profiler_legacy",
    "_enable_profiler_legacy",
)
_control = {name: getattr(_autograd, name) for name in _CONTROLS if hasattr(_autograd, name)}
_printing: list[bool] = []  # not empty while torch prints a tensor
_any_name_is_taken = False  # True if a submission has made code whose file name is not known


def guard() -> None:
    """Note every touch of a counter, and code compiled under a library's name, from now on.

    The effect is permanent. Call the function once, before code that may keep references to the
    guarded functions. The fork server calls it, because it takes 50 ms.
    """
    sys.addaudithook(_note)
    _leave_printing_out()
    instead: dict[str, Any] = {name: _guarded(control) for name, control in _control.items()}
    instead["_profiler_enabled"] = lambda: False  # other code must not see this profiler
    for module, name, control in controls_by_name():
        setattr(module, name, instead[control])
    if hasattr(torch._C, "_te"):
        del torch._C._te  # it makes machine code, which no counter sees
    _overloads()  # it takes 5 ms, which the workers save
    _find_own_code()


@cache
def controls_by_name() -> list[tuple[ModuleType, str, str]]:
    """Return all names in torch's modules that control the profiler.

    Returns:
        For each name: the module, the name, and the name of the same function in
        `torch._C._autograd`.
    """
    wanted = {id(getattr(_autograd, name)): name for name in (*_control, "_profiler_enabled")}
    return [
        (module, name, wanted[id(value)])
        for module in list(sys.modules.values())
        if type(module) is ModuleType and module.__name__.startswith("torch")
        for name, value in list(vars(module).items())
        if id(value) in wanted
    ]


def _leave_printing_out() -> None:
    """Do not let the profiler count the operations with which torch prints a tensor.

    torch needs one or more operations for each entry. It switches dispatch modes off in the same
    place.
    """
    printed: Any = vars(_tensor_str)["_str"]

    def print_unseen(tensor: Any, **named: Any) -> Any:
        if type(tensor) not in (Tensor, torch.nn.Parameter):
            return printed(tensor, **named)
        _control["_enable_record_function"](False)
        _printing.append(True)
        try:
            return printed(tensor, **named)
        finally:
            _printing.pop()
            _control["_enable_record_function"](True)

    vars(_tensor_str)["_str"] = print_unseen


def _guarded(control: Callable[..., Any]) -> Callable[..., Any]:
    def touched(*given: Any, **named: Any) -> Any:
        _touched.append(
            "your code starts or stops torch's profiler, which the grader uses; remove these calls"
        )
        return control(*given, **named)

    return touched


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    global _any_name_is_taken, _is_own_code_changed
    if event in ("sys.settrace", "sys.setprofile"):
        caller = sys._getframe(1).f_code
        if caller is not _STARTS_THREADS and caller.co_filename != __file__:
            _touched.append(_LINES)
    elif event in ("compile", "code.__new__"):
        name = arguments[1]
        if (
            isinstance(name, str)
            and name.startswith(_LIBRARIES)
            and "importlib" not in sys._getframe(1).f_code.co_filename
        ):
            _taken_names.add(name)
    elif event == "marshal.loads" and "importlib" not in sys._getframe(1).f_code.co_filename:
        _any_name_is_taken = True
    elif (
        event == "object.__setattr__"
        and id(arguments[0]) in _own_functions
        and arguments[1] == "__code__"
    ):
        _is_own_code_changed = True


# A namespace, some of its names, and the values of these names.
_Names = tuple[Mapping[str, Any], Sequence[str], Sequence[object]]
_own_names: list[_Names] = []
_own_functions: dict[int, FunctionType] = {}  # by `id`
_is_own_code_changed = False


def _find_own_code() -> None:
    """Remember the functions and classes that a submission could replace to send other counts."""
    for module, name in (
        (os, "write"),
        (os, "urandom"),
        (sys, "settrace"),
        (threading, "settrace"),
        (msgspec.json, "encode"),
        (msgspec.structs, "replace"),
    ):
        _own_names.append((vars(module), (name,), (vars(module)[name],)))
    for module_name in (
        "counters",
        "case_runner",
        "worker",
        "channel",
        "protocol",
        "guarded_call",
        "execution",
    ):
        namespace = (
            vars(sys.modules[key])
            if (key := f"trainer.worker.{module_name}") in sys.modules
            else {}
        )
        classes = [
            value
            for value in namespace.values()
            if isinstance(value, type) and value.__module__.startswith("trainer.")
        ]
        for owner in (namespace, *map(vars, classes)):
            kept = {
                name: value
                for name, value in owner.items()
                if isinstance(value, FunctionType) or value in classes
            }
            _own_names.append((owner, tuple(kept), tuple(kept.values())))
            _own_functions.update(
                {id(value): value for value in kept.values() if isinstance(value, FunctionType)}
            )


def _is_own_code_left_alone() -> bool:
    """Return if each name still has the same value, and each function the same code.

    The loops run in C, because there are hundreds of names and each counted call checks them.
    """
    return not _is_own_code_changed and all(
        all(map(is_, map(owner.get, names), values)) for owner, names, values in _own_names
    )


_TIMERS = (signal.ITIMER_REAL, signal.ITIMER_VIRTUAL, signal.ITIMER_PROF)


class _LineCounter:
    """Counts the lines that run outside the libraries while active, in all threads of Python.

    Attributes:
        count: the number of lines and calls.
        left_alone: after the exit, True if the trace function was still in place.
    """

    def __init__(self) -> None:
        self.count = 0
        self._known: dict[str, bool] = {}
        self._open = 0  # calls of this thread that have not returned
        self._thread = _thread.get_ident()

    def __enter__(self) -> _LineCounter:
        # The garbage collector may run any finalizer at any time. Finalizers must not be counted.
        self._collects = gc.isenabled()
        gc.disable()
        # So may the handler of a timer. A timer that the call itself starts is not stopped.
        self._timers = [(timer, *signal.setitimer(timer, 0)) for timer in _TIMERS]
        self._before = sys.gettrace()
        threading.settrace(self.trace)
        sys.settrace(self.trace)
        return self

    def __exit__(self, *unused: object) -> None:
        self.left_alone = sys.gettrace() == self.trace and self._open == 0
        sys.settrace(self._before)
        threading.settrace(None)
        for timer, delay, interval in self._timers:
            if delay:
                signal.setitimer(timer, delay, interval)
        if self._collects:
            gc.enable()

    def trace(self, frame: FrameType, event: str, argument: Any) -> Any:
        """Count a call, and each line of it. Python calls this function for each event."""
        name = frame.f_code.co_filename
        if name not in self._known:
            self._known[name] = name.startswith(_LIBRARIES)
        if (
            self._known[name]
            and name not in _taken_names
            and (not _any_name_is_taken or name == __file__)
        ):
            return None
        if event in ("call", "line"):
            self.count += 1
        if event in ("call", "return") and _thread.get_ident() == self._thread:
            self._open += 1 if event == "call" else -1
        if not frame.f_trace_lines:
            _touched.append(_LINES)
        return self.trace


def observe(
    call: Callable[[], Any],
    *,
    products: bool = True,
    training: bool = False,
    gradients: bool = False,
) -> tuple[Any, Counts]:
    """Make a call and count its work.

    Args:
        call: makes one call of the learner's code. An exception is passed on, without counts.
        products: if multiply-adds are counted too. The profiler keeps the sizes of all inputs then.
        training: if the module is in training mode, for the counts.
        gradients: if gradients are recorded, for the counts.

    Returns:
        The result of the call, and the counts.
    """
    transfers, tracing = _TransferCounter(), _LineCounter()
    before, after = (2 + os.urandom(1)[0] % 4 for _ in range(2))
    _touched.clear()
    _start_profiler(sizes=products)
    events: list[Any] = []
    try:
        _run_canaries(before)
        with transfers, tracing:
            result = call()
            _lines_canary()
        _run_canaries(after)
    finally:
        events = _stop_profiler()
    canaries = [event for event in events if event.name == _CANARY]
    # Threads of the learner's may run at any time, so only this thread is checked: its first and
    # its last operations must be the canaries.
    own_names = [
        event.name for event in events if canaries and event.start_tid == canaries[0].start_tid
    ]
    if own_names[:before] != [_CANARY] * before or own_names[-after:] != [_CANARY] * after:
        _touched.append(_PROFILER)
    if not (tracing.left_alone and tracing.count >= _CANARY_LINES):
        _touched.append(_LINES)
    operations = list(_operations(events))
    # `numpy` and `tolist` run `resolve_neg`, even if function modes are switched off. `from_numpy`
    # and `tensor` run `lift_fresh`.
    leaving = [event for event in events if event.name == "aten::resolve_neg"] if products else []
    entering = [event for event in events if event.name == "aten::lift_fresh"] if products else []
    left = max(transfers.left, _entries_of_first_inputs(leaving))
    entered = max(transfers.entered, _entries_of_first_inputs(entering))
    flops, matrix_flops = _sums(map(_most_flops, operations)) if products else (0, 0)
    counts = Counts(
        operations=len(operations),
        lines=max(0, tracing.count - _CANARY_LINES),
        left_torch=left,
        entered_torch=entered,
        flops=flops,
        matrix_flops=matrix_flops,
        training=training,
        gradients=gradients,
        tampered=_tampering(),
    )
    return result, counts


def _entries_of_first_inputs(events: Iterable[Any]) -> int:
    return sum(math.prod(_shape(event.extra_fields.inputs[0])) for event in events)


def _tampering() -> str:
    """Return a sentence about the first touch of a counter; "" if nothing was touched."""
    if not _touched and not _is_own_code_left_alone():
        _touched.append(_OWN_CODE)
    return next(iter(_touched), "")


def _operations(events: Iterable[Any]) -> Iterator[Any]:
    """Yield the events of operations that compute something themselves, each once.

    The operations inside these operations are left out.
    """
    waiting = list(events)
    while waiting:
        event = waiting.pop()
        name = event.name
        if name == _CANARY:
            continue
        if name in _TAKES_APART or (
            name.startswith("aten::") and _has_kernel(name) and not _runs_python(event)
        ):
            yield event
        else:
            waiting += event.children


def _runs_python(event: Any) -> bool:
    """Return if Python code computes some part of an operation."""
    return any(
        child.name in _PYTHON_EVENTS or not _is_torchs(child.name) or _runs_python(child)
        for child in event.children
    )


@cache
def _is_torchs(name: str) -> bool:
    """Return if a name is an operation of torch's own. The names of autograd have no namespace."""
    return "::" not in name or name.startswith(
        ("aten::", "prim::", "prims::", "mkldnn::", "quantized::", "profiler::")
    )


def observe_largest(
    call: Callable[[], Any], *, training: bool = False, gradients: bool = False
) -> tuple[Any, Counts]:
    """Make a call and count the entries of the largest tensor.

    Only the dispatch mode counts here, because the profiler takes three times as long.
    `observe_memory` and the kernel count memory in other ways.

    Args:
        call: makes one call of the learner's code.
        training: if the module is in training mode, for the counts.
        gradients: if gradients are recorded, for the counts.

    Returns:
        The result of the call, and the counts.
    """
    counter = Counter()
    _touched.clear()
    with counted_by(counter):
        result = call()
        before = counter.operations
        _run_canaries(1)
    if counter.operations != before + 1:
        _touched.append("the dispatch mode that counts was switched off")
    return result, Counts(
        operations=before,
        largest=counter.largest,
        training=training,
        gradients=gradients,
        tampered=_tampering(),
    )


def observe_memory(
    call: Callable[[], Any], *, training: bool = False, gradients: bool = False
) -> tuple[Any, Counts]:
    """Make a call and count the bytes of tensors that are alive at once, by torch's allocator.

    Only tensors of this thread count. The kernel counts all memory, at the end of the worker.

    Args:
        call: makes one call of the learner's code.
        training: if the module is in training mode, for the counts.
        gradients: if gradients are recorded, for the counts.

    Returns:
        The result of the call, and the counts.
    """
    _touched.clear()
    _start_profiler(memory=True)
    events: list[Any] = []
    try:
        # The allocator reports memory without the records, and operations take half as long.
        _control["_enable_record_function"](False)
        canary = torch.empty(_CANARY_BYTES, dtype=torch.uint8)
        del canary
        result = call()
        canary = torch.empty(_CANARY_BYTES, dtype=torch.uint8)  # noqa: F841  # alive at the end
    finally:
        _control["_enable_record_function"](True)
        events = _stop_profiler()
    sizes = list(_allocations(events))
    if not (sizes[:2] == [_CANARY_BYTES, -_CANARY_BYTES] and sizes[-1:] == [_CANARY_BYTES]):
        _touched.append(_PROFILER)
    alive = max(accumulate(sizes[2:-1]), default=0)
    return result, Counts(
        alive=max(0, alive), training=training, gradients=gradients, tampered=_tampering()
    )


def _allocations(events: list[Any]) -> Iterator[int]:
    """Yield the bytes of every allocation, in order. Freed bytes are negative."""
    waiting = list(reversed(events))
    while waiting:
        event = waiting.pop()
        if event.name == "[memory]":
            yield event.extra_fields.alloc_size
        else:
            waiting += reversed(event.children)


def _start_profiler(*, memory: bool = False, sizes: bool = False) -> None:
    options = _profiler._ExperimentalConfig(profile_all_threads=not memory)
    config = _profiler.ProfilerConfig(
        _profiler.ProfilerState.KINETO, sizes, memory, False, False, False, options
    )
    activities = {_profiler.ProfilerActivity.CPU}
    for attempt in range(2):
        try:
            _control["_prepare_profiler"](config, activities)
            _control["_enable_profiler"](config, activities)
        except RuntimeError as error:
            if os.strerror(errno.EAGAIN) in str(error):  # the profiler cannot start its thread
                raise MemoryError("there is no memory left for the profiler") from error
            if attempt == 0:  # the learner's code has left a profiler on: switch that profiler off
                _control["_disable_profiler"]()
        else:
            return


def _stop_profiler() -> list[Any]:
    """Return the profiler's events; [] if the profiler is not running."""
    try:
        events: list[Any] = _control["_disable_profiler"]().experimental_event_tree()
    except RuntimeError:
        return []
    return events


_CANARY_BYTES = 4_321
_CANARY_TENSOR = torch.ones((), dtype=torch.int64)
_CANARY_LINES = 4  # a call and its three lines


def _run_canaries(times: int) -> None:
    """Run operations that the profiler must see."""
    for _ in range(times):
        torch.bitwise_left_shift(_CANARY_TENSOR, _CANARY_TENSOR)


_canary_names: dict[str, Any] = {}
exec(compile("def run():\n    a = 1\n    a = 2\n    a = 3\n", "<canary>", "exec"), _canary_names)
_lines_canary: Callable[[], None] = _canary_names["run"]


@cache
def _has_kernel(name: str) -> bool:
    """Return if an operation computes something itself, and is not only made of others."""
    keys = ("CPU", "CompositeExplicitAutograd", "CompositeExplicitAutogradNonFunctional")
    return any(
        torch._C._dispatch_has_kernel_for_dispatch_key(overload, key)
        for overload in _overloads().get(name, ())
        for key in keys
    )


@cache
def _overloads() -> dict[str, list[str]]:
    """Return the full names of all operations by their names in the profiler."""
    found: dict[str, list[str]] = {}
    for name in torch._C._dispatch_get_all_op_names():
        found.setdefault(name.partition(".")[0], []).append(name)
    return found


def count_in_threads() -> None:
    """Let every thread that Python starts from now on count for `counted_by`.

    All functions that start a thread are replaced. Call this function once, before code that may
    keep references to them.
    """
    # The last name exists from Python 3.13 on.
    for name in ("start_new_thread", "start_new", "start_joinable_thread"):
        if (start := getattr(_thread, name, None)) is not None:
            counted = partial(_start_counted, start)
            setattr(_thread, name, counted)
            if hasattr(threading, f"_{name}"):
                setattr(threading, f"_{name}", counted)


def _start_counted(
    start: Callable[..., Any], function: Callable[..., Any], *args: Any, **kwargs: Any
) -> Any:
    def run(*given: Any, **named: Any) -> Any:
        if _active_counter is not None and sys.gettrace() is None:
            sys.settrace(threading.gettrace())
        with _ThreadCounter():
            return function(*given, **named)

    return start(run, *args, **kwargs)


def _memory(tensor: Tensor) -> tuple[int, int]:
    storage = tensor.untyped_storage()
    return storage.data_ptr(), storage.nbytes()


def tensors_in(value: Any) -> list[Tensor]:
    """Return the strided tensors in nested lists, tuples and dicts, in order."""
    found: list[Tensor] = []
    waiting = [value]
    opened: set[int] = set()  # a list may contain itself
    while waiting:  # a recursion would take twice as long, and every operation needs this search
        part = waiting.pop()
        if isinstance(part, Tensor):
            if part.layout is torch.strided:
                found.append(part)
        elif isinstance(part, (list, tuple, dict)) and id(part) not in opened:
            opened.add(id(part))
            waiting.extend(reversed([*(part.values() if isinstance(part, dict) else part)]))
    return found


def _sums(pairs: Iterable[tuple[int, int]]) -> tuple[int, int]:
    flops = matrix_flops = 0
    for own_flops, own_matrix_flops in pairs:
        flops, matrix_flops = flops + own_flops, matrix_flops + own_matrix_flops
    return flops, matrix_flops


def _most_flops(event: Any) -> tuple[int, int]:
    """Return the flops of an operation, or of the operations inside it, if their sum is larger.

    Returns:
        The flops of all products, and the flops of products of matrices and vectors.
    """
    own = _flops(event) if event.name.startswith("aten::") else (0, 0)
    inside = _sums(map(_most_flops, event.children))
    return max(own[0], inside[0]), max(own[1], inside[1])


def flops_of(name: str, arguments: Sequence[Any]) -> int:
    """Return 2 for each multiply-add of a dispatched operation with these arguments."""
    inputs = [_sized(argument) for argument in arguments]
    event = SimpleNamespace(name=f"aten::{name}", extra_fields=SimpleNamespace(inputs=inputs))
    return _flops(event)[0]


def _sized(argument: Any) -> Any:
    """Return an argument as the profiler describes it: tensors have `sizes`."""
    if isinstance(argument, Tensor):
        return SimpleNamespace(sizes=list(argument.shape))
    if isinstance(argument, list | tuple):
        return [_sized(part) for part in argument]
    return argument


def _flops(event: Any) -> tuple[int, int]:
    """Return 2 for each multiply-add of an operation, without the operations inside it.

    For operations without a formula, the sizes of the inputs decide.

    Returns:
        The flops of all products, and the flops of products of matrices and vectors.
    """
    name = event.name.removeprefix("aten::")
    inputs = event.extra_fields.inputs
    if name in _PRODUCTS:
        left, right = (_shape(inputs[place]) for place in _PRODUCTS[name])
        return (2 * math.prod(left) * (right[-1] if right else 1),) * 2
    if name in _PRODUCTS_WITH_A_VECTOR:
        return (2 * math.prod(_shape(inputs[_PRODUCTS_WITH_A_VECTOR[name]])),) * 2
    shapes = [shape for given in inputs for shape in _shapes(given) if shape]
    if not shapes:
        return 0, 0
    if name in _CONVOLUTIONS and len(shapes) > 1:
        batch, _, *lengths = shapes[0]
        return (2 * batch * math.prod(lengths) * math.prod(shapes[1]),) * 2
    if name == "_trilinear" and len(shapes) > 1:
        return (2 * math.prod(shapes[1]) * max(1, math.prod(shapes[0]) // shapes[0][-1]),) * 2
    return _flops_of_entries(name, shapes), 0


def _flops_of_entries(name: str, shapes: Sequence[Shape]) -> int:
    """Return 2 for each product of entries in an operation whose inputs have these shapes."""
    entries = max(map(math.prod, shapes))
    if name in _PRODUCTS_OF_A_SQUARE:
        return 2 * shapes[0][-1] * math.prod(shapes[0])
    if name in _PRODUCTS_OF_ONE_INPUT:
        return 2 * entries
    if name.startswith("_foreach_") and not name.startswith(
        ("_foreach_add", "_foreach_sub", "_foreach_copy")
    ):
        return 2 * sum(map(math.prod, shapes))
    if len(shapes) < 2 or name in _NO_PRODUCTS:
        return 0
    return 2 * max(entries, _broadcast(shapes))


def _shape(given: Any) -> Shape:
    """Return the sizes of an input that is a tensor; () for any other input."""
    sizes: Shape = getattr(given, "sizes", ())
    return sizes


def _shapes(given: Any) -> Iterator[Shape]:
    """Yield the sizes of an input that is a tensor, or of each tensor in a list."""
    if isinstance(given, list | tuple):
        for part in given:
            yield from _shapes(part)
    elif hasattr(given, "sizes"):
        yield given.sizes


def _broadcast(shapes: Sequence[Shape]) -> int:
    """Return the entries of a result to which shapes are broadcast; 0 if the shapes do not fit."""
    try:
        # torch's function has no types.
        return math.prod(torch.broadcast_shapes(*shapes))  # type: ignore[no-untyped-call]
    except RuntimeError:
        return 0
