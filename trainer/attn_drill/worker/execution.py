"""Run one case on an implementation, and put the exceptions of its code into words.

The worker runs a submission with this code, and the grader runs the reference with the same code.
"""

from __future__ import annotations

import errno
import linecache
import traceback
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from types import FrameType, SimpleNamespace
from typing import Any
from weakref import WeakKeyDictionary

import torch
from torch import Tensor, nn

from attn_drill.model.challenge import Signature
from attn_drill.sandbox.confine import FILE_BYTES
from attn_drill.sandbox.isolation import FOLDER_BYTES
from attn_drill.worker.arguments import construct, own_module
from attn_drill.worker.protocol import CallFailure, FrameData, cap
from attn_drill.worker.returns import UnexpectedReturnError

Drive = Callable[[Any, Any], dict[str, Tensor]]

_FUNCTIONS: WeakKeyDictionary[nn.Module, SimpleNamespace] = WeakKeyDictionary()

_TOO_MUCH = {
    errno.ENOSPC: f"it wrote more than the {FOLDER_BYTES >> 20} MiB that a submission may write",
    errno.EFBIG: f"it wrote a file of more than {FILE_BYTES >> 20} MiB, which no submission may",
}
_REFUSED = (errno.EPERM, errno.EACCES, errno.EROFS, errno.ENOSYS)
_MOST_CAUSES = 8


@dataclass(frozen=True)
class Given:
    """The part of a case that `drive` sees."""

    # The inputs by name. Each input is also an attribute of this object.
    inputs: Mapping[str, Any]
    sizes: Mapping[str, int]

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["inputs"][name]
        except KeyError:
            raise AttributeError(name) from None


def build(
    namespace: Mapping[str, Any],
    kind: str,
    entry: Sequence[str],
    init: Mapping[str, Any],
    dtype: torch.dtype,
    mode: str,
    signatures: Sequence[Signature] = (),
    ties: Sequence[tuple[str, str]] = (),
    lost: list[str] | None = None,
) -> Any:
    """Return the implementation that `drive` calls: a module, a function, a class, or an object.

    The object has several functions as attributes. If the file of a module defines functions too,
    `functions_of` gives access to them.

    Args:
        namespace: the names that the file defines, with their values.
        kind: the kind of the challenge; "module" if the file defines a module.
        init: the arguments of the constructor, by the contract's names.
        mode: the mode of the module, "train" or "eval".
        signatures: the contract's callables. Without signatures, the arguments must have the
            contract's names.
        ties: pairs of parameters of a module that become one tensor, if they are not yet.
        lost: a list that receives the names of the buffers that lose their imaginary parts in the
            cast to `dtype`.
    """
    if kind == "module":
        module = construct(namespace[entry[0]], entry[0], init, signatures)
        for name, other in ties:
            path, _, own_name = name.rpartition(".")
            setattr(module.get_submodule(path), own_name, module.get_parameter(other))
        module = _in_dtype(module, dtype, [] if lost is None else lost).train(mode == "train")
        if len(entry) > 1:
            _FUNCTIONS[module] = SimpleNamespace(**{name: namespace[name] for name in entry[1:]})
        return module
    if len(entry) == 1:
        return namespace[entry[0]]
    return SimpleNamespace(**{name: namespace[name] for name in entry})


def functions_of(module: nn.Module) -> Any:
    """Return the functions that the file of a module defines, as attributes by name.

    A `drive` calls this, and passes them the learner's own module: see `own_module`.
    """
    return _FUNCTIONS[own_module(module)]


@contextmanager
def without_first_weights() -> Iterator[None]:
    """While active, leave the weights of new linear layers undrawn, which takes most of their time.

    This is not for grading: a layer that a module does not register must change the result.
    """
    usual = nn.Linear.reset_parameters
    nn.Linear.reset_parameters = lambda self: None  # type: ignore[method-assign]  # put back below
    try:
        yield
    finally:
        nn.Linear.reset_parameters = usual  # type: ignore[method-assign]  # as it was


def _in_dtype(module: Any, dtype: torch.dtype, lost: list[str]) -> Any:
    """Return the module, cast to `dtype` in torch's way.

    torch makes complex buffers real: it cuts off their imaginary parts and warns. The names of
    buffers that lose a nonzero imaginary part are added to `lost`.
    """
    if not isinstance(module, nn.Module):
        return module.to(dtype)
    tensors = chain(module.parameters(), module.buffers())
    if all(tensor.dtype == dtype or not tensor.is_floating_point() for tensor in tensors):
        return module  # a cast would take as long as building it
    before = {name: buffer for name, buffer in module.named_buffers() if buffer.is_complex()}
    with warnings.catch_warnings():
        if before:
            warnings.simplefilter("ignore")  # the report names the buffers
        module = module.to(dtype)
    for name, buffer in module.named_buffers():
        if name in before and not buffer.is_complex() and bool((before[name].imag != 0).any()):
            lost.append(name)
    return module


def leaves(inputs: Mapping[str, Any]) -> Iterator[tuple[str, Tensor]]:
    """Yield the name and the tensor of every tensor among the inputs.

    Tensors in a tuple or list get a name with an index, for example `blocks[0]`.
    """
    for name, value in inputs.items():
        if isinstance(value, Tensor):
            yield name, value
        elif isinstance(value, tuple | list):
            for index, part in enumerate(value):
                if isinstance(part, Tensor):
                    yield f"{name}[{index}]", part


def map_leaves(
    inputs: Mapping[str, Any], change: Callable[[str, Tensor], Tensor]
) -> dict[str, Any]:
    """Return the inputs with every tensor replaced by `change(name, tensor)`.

    Lists become tuples. The names are those of `leaves`.
    """
    changed: dict[str, Any] = {}
    for name, value in inputs.items():
        if isinstance(value, Tensor):
            changed[name] = change(name, value)
        elif isinstance(value, tuple | list):
            changed[name] = tuple(
                change(f"{name}[{index}]", part) if isinstance(part, Tensor) else part
                for index, part in enumerate(value)
            )
        else:
            changed[name] = value
    return changed


def lay_out(tensor: Tensor, layout: str | None) -> Tensor:
    """Return a copy of a tensor in separate memory. The last axis always has stride 1.

    Args:
        tensor: the values. For "expanded", all entries along axis 0 must be equal.
        layout: None for contiguous memory; "transposed" for memory in which all axes except the
            last are in reverse order; "strided" for a part of a larger tensor; "expanded" for
            memory that all indices of axis 0 share. With "transposed", a tensor of one or two axes
            has no axes to reverse and is laid out as "strided".
    """
    if layout == "expanded":
        return tensor[:1].clone(memory_format=torch.contiguous_format).expand(tensor.shape)
    if layout == "transposed" and tensor.dim() > 2:
        order = [*reversed(range(tensor.dim() - 1)), tensor.dim() - 1]
        return tensor.permute(order).clone(memory_format=torch.contiguous_format).permute(order)
    if layout in ("transposed", "strided") and tensor.dim():
        # The larger tensor is twice as long in the last two axes. So no two axes can be merged,
        # and if the last axis is even, so are all other strides and the offset: the pairs of the
        # last axis can be viewed as complex numbers.
        last = tensor.shape[-2:]
        view = tensor.new_ones((*tensor.shape[:-2], *(2 * size for size in last)))
        for axis, size in zip((-1, -2), reversed(last), strict=False):
            view = view.narrow(axis, size, size)
        view.copy_(tensor)
        return view
    return tensor.clone(memory_format=torch.contiguous_format)


def overwrite(target: Tensor, values: Tensor) -> None:
    """Write new values into the memory of `target`. Entries along axis 0 may share memory."""
    with torch.no_grad():
        if target.dim() and target.stride(0) == 0 and target.shape[0] > 1:
            target[:1].copy_(values[:1])
        else:
            target.copy_(values)


def gradients(
    outputs: Mapping[str, Any],
    cotangents: Mapping[str, Tensor],
    wrt: Mapping[str, Tensor],
) -> dict[str, Tensor | None]:
    """Return the gradient of sum(output * cotangent) for every tensor of `wrt`, or None.

    Gradients are computed as in training, with `backward()`, and read from `.grad`, because
    reentrant checkpointing refuses `torch.autograd.grad`. Afterwards every leaf tensor of `wrt` has
    its former `.grad` again.

    Args:
        outputs: the outputs by name. An output counts if it is a tensor that requires gradients and
            has the shape of its cotangent.
    """
    # The submission may have switched gradients off in the whole process.
    with torch.enable_grad():
        terms = [
            (output * cotangents[name].to(output.dtype)).sum()
            for name, output in outputs.items()
            if isinstance(output, Tensor)
            and output.requires_grad
            and name in cotangents
            and output.shape == cotangents[name].shape
        ]
        tracked = {name: tensor for name, tensor in wrt.items() if tensor.requires_grad}
        if not terms or not tracked:
            return dict.fromkeys(wrt)
        # `backward` of a scalar needs no `grad_tensors`, with which torch would import its module
        # of symbolic shapes. That import takes 0.3 s.
        total = terms[0]
        if len(terms) > 1:
            total = torch.stack([term.to(torch.float64) for term in terms]).sum()
        # The submission may have set `.grad`.
        before = [(tensor, tensor.grad) for tensor in tracked.values() if tensor.is_leaf]
        for tensor in tracked.values():
            if tensor.is_leaf:
                tensor.grad = None
            else:
                tensor.retain_grad()
        try:
            total.backward()  # type: ignore[no-untyped-call]  # torch gives no types
            computed = {name: tensor.grad for name, tensor in tracked.items()}
        finally:
            for tensor, gradient in before:
                tensor.grad = gradient
        return {**dict.fromkeys(wrt), **computed}


def module_parameters(implementation: Any) -> dict[str, Tensor]:
    """Return the parameters of a module by name; {} for a function."""
    return dict(implementation.named_parameters()) if isinstance(implementation, nn.Module) else {}


class GuardedCall:
    """Calls into the file at `path`. Of every traceback, only the lines of that file are kept."""

    def __init__(self, path: str) -> None:
        self.path = path

    def call(self, phase: str, action: Callable[[], Any]) -> tuple[Any, CallFailure | None]:
        """Return the result of `action` and None, or None and the failure if `action` raises.

        Args:
            phase: the name of the phase for the failure, for example "forward".
        """
        try:
            return action(), None
        # SystemExit and KeyboardInterrupt too: the learner's code may raise any exception. And to
        # read the attributes of that exception may raise another.
        except BaseException as error:
            try:
                return None, self._described(phase, error)
            except BaseException:
                return None, CallFailure(phase, "Exception", "an exception that cannot be shown")

    def frames(self, stack: Iterable[tuple[FrameType, int]]) -> list[FrameData]:
        """Return the file's own frames of a stack, outermost first, at most the last 8."""
        frames: list[FrameData] = []
        for frame, line in stack:
            if frame.f_code.co_filename == self.path:
                text = linecache.getline(self.path, line or 0).strip()
                frames.append(FrameData(line or 0, cap(frame.f_code.co_name, 100), cap(text, 200)))
        return frames[-8:]

    def _described(self, phase: str, error: BaseException) -> CallFailure:
        text = _text_of(error)
        if isinstance(error, ModuleNotFoundError) and error.name:
            text = f"No module named {error.name!r}"  # also of a hidden package
        if refused := refused_action(error):
            text = f"{refused} ({text})"
        if (
            isinstance(error, SyntaxError)
            and type(error).__module__ == "builtins"
            and str(error.filename) == self.path
        ):
            number = error.lineno
            line = number if isinstance(number, int) and 0 <= number <= 10**9 else 0
            frames = [FrameData(line, "", cap(str(error.text or "").strip(), 200))]
            text = str(error.msg)
        else:
            frames = self.frames(traceback.walk_tb(error.__traceback__))
        if isinstance(error, UnexpectedReturnError):
            frames = []
        if phase == "import" and isinstance(error, MemoryError) and not frames:
            return CallFailure(
                phase, "SyntaxError", "the file is nested too deeply for Python's parser"
            )
        return CallFailure(
            phase, cap(type(error).__name__, 200), cap(text), frames, is_out_of_memory(error)
        )


def refused_action(error: BaseException) -> str:
    """Return a sentence if the system refused something that the submission tried, or "".

    The refusal may be the exception itself, or one of the exceptions that caused it.
    """
    cause: BaseException | None = error
    for _ in range(_MOST_CAUSES):
        if isinstance(cause, OSError) and cause.errno in _TOO_MUCH:
            return _TOO_MUCH[cause.errno]
        if isinstance(cause, OSError) and cause.errno in _REFUSED:
            path = cause.filename if isinstance(cause.filename, str) else ""
            if path and cause.errno != errno.ENOSYS:  # that call itself is refused
                return f"it tried to read or change {path[:200]}, which a submission may not do"
            return (
                "it tried to use the network, to start a process, or to do something else that a "
                "submission may not do"
            )
        cause = None if cause is None else cause.__cause__ or cause.__context__
    return ""


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether Python or torch's allocator requested more memory than the limit allows."""
    refused = isinstance(error, OSError) and error.errno == errno.ENOMEM
    return refused or isinstance(error, MemoryError) or "can't allocate memory" in _text_of(error)


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "(its message cannot be shown)"
