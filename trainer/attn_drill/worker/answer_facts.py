"""Gather the facts about one call of an answer that passed: its cost, and habits worth a note.

The tensors of a realistic call have shapes and no values (torch's device "meta"), so the call costs
almost no time and no memory. Every operation of the call is still seen.

A submission could report false facts. Then it deceives only its own author, because no verdict
depends on them.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from types import ModuleType
from typing import Any

import torch
from torch import Tensor, nn

from attn_drill.worker._observers import Meter, lines_of, tensors_in
from attn_drill.worker.execution import without_first_weights
from attn_drill.worker.protocol import CopyFact, Facts, HeldFact
from attn_drill.worker.torch_private import DispatchMode
from attn_drill.worker.torch_private import storage_id as _memory

_COMPILER = "torch._dynamo"
_MOST_FACTS = 20
_LEAST_COPY = 1 << 20  # bytes: smaller copies do not matter
_COPIES = frozenset("clone repeat index_select index gather _to_copy".split())
_FACTORIES = frozenset(
    "zeros ones full empty arange linspace logspace eye rand randn randint randperm "
    "tril_indices triu_indices scalar_tensor".split()
)
# Indices may be on the CPU; the other operations move values between devices on purpose.
_MIXED_DEVICES = frozenset("index index_put index_put_ _to_copy copy copy_ set_".split())
# The shape of the result depends on values.
_VALUE_SHAPES = frozenset(
    "nonzero masked_select unique_dim unique_consecutive _unique2 bincount "
    "repeat_interleave".split()
)
_TO_PYTHON = frozenset("_local_scalar_dense equal allclose".split())  # the result is no tensor
_HALF = (torch.bfloat16, torch.float16)


@dataclass
class _Held:
    """The memory of a new tensor."""

    line: int  # the line that made the tensor
    size: int
    # The index of the last memory that was made before this was freed; None if it is not.
    last: int | None = None


class FactsRecorder(DispatchMode):
    """Observe the operations of this thread while active.

    Args:
        truth: the value that a tensor without values has for Python code.
        start: is called before each operation.
    """

    def __init__(
        self, path: str, *, truth: bool = True, start: Callable[[], None] | None = None
    ) -> None:
        super().__init__()
        self._path, self._truth, self._start = path, truth, start
        self._meter = Meter()
        self.operations = 0
        self.copies: list[CopyFact] = []
        self.reads: set[int] = set()
        self.other_device: set[int] = set()
        self.default_dtype: set[int] = set()
        self.half_softmax: set[int] = set()
        self.used: set[int] = set()  # the memory that operations read
        # Memory of a factory's tensor, or of a tensor computed from it -> the factory's line.
        self._made_on: dict[int, int] = {}
        # Memory of tensors whose dtype the code did not choose -> the line that made the first.
        self._of_default_dtype: dict[int, int] = {}
        self._held: list[_Held] = []  # of all new tensors, in order
        self._last_at_peak = -1  # the last that was made before the peak

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Run the operation and observe it."""
        if self._start is not None:
            self._start()
        kwargs = kwargs or {}
        name = func.overloadpacket.__name__
        inputs = tensors_in((args, kwargs))
        # The innermost line of the file that is running; 0 if there is none.
        line = next(iter(lines_of(sys._getframe(1), self._path, 1)), 0)
        self.used |= {_memory(tensor) for tensor in inputs}
        # A mask chooses entries, so its values decide the shape.
        is_masked = name == "index" and any(
            index.dtype is torch.bool for index in tensors_in(args[1])
        )
        if name in _TO_PYTHON or name in _VALUE_SHAPES or is_masked:
            self.reads.add(line)
        if name in _TO_PYTHON and inputs and inputs[0].is_meta:
            is_number = name == "_local_scalar_dense" and inputs[0].dtype is not torch.bool
            return int(self._truth) if is_number else self._truth
        devices = {tensor.device.type for tensor in inputs if tensor.dim()}
        if len(devices) > 1 and name not in _MIXED_DEVICES:
            args, kwargs = self._on_one_device(line, args, kwargs)
            inputs = tensors_in((args, kwargs))
        result = func(*args, **kwargs)
        self._meter.count(name, args)
        self._observe_dtype(name, inputs, kwargs, result, line)
        old = {_memory(tensor) for tensor in inputs}
        new_tensors = [tensor for tensor in tensors_in(result) if _memory(tensor) not in old]
        self.operations += bool(new_tensors) or name.endswith("_")  # a view costs nothing
        for tensor in new_tensors:
            self._hold(tensor, line)
            self._observe_copy(name, inputs, tensor, line)
        return result

    def facts(self) -> Facts:
        """Return everything that was observed."""
        peak = self._last_at_peak
        held = [each for each in self._held[: peak + 1] if each.last is None or each.last >= peak]
        held.reverse()  # of equal memory, the newest tells most
        held.sort(key=lambda each: -each.size)
        return Facts(
            operations=self.operations,
            multiply_adds=self._meter.flops // 2,
            peak_bytes=self._meter.peak,
            copies=self.copies[:_MOST_FACTS],
            held=[HeldFact(each.line, each.size) for each in held[:_MOST_FACTS]],
            reads=sorted(self.reads)[:_MOST_FACTS],
            other_device=sorted(self.other_device)[:_MOST_FACTS],
            default_dtype=sorted(self.default_dtype)[:_MOST_FACTS],
            half_softmax=sorted(self.half_softmax)[:_MOST_FACTS],
        )

    def _hold(self, tensor: Tensor, line: int) -> None:
        """Count the memory of a new tensor until it is freed."""
        block = _Held(line, tensor.untyped_storage().nbytes())
        self._held.append(block)
        if self._meter.hold(tensor, self._release, block, _memory(tensor)):
            self._last_at_peak = len(self._held) - 1

    def _release(self, size: int, block: _Held, memory: int) -> None:
        """Forget memory that is freed. Another tensor may get the same number."""
        self._meter.alive -= size
        block.last = len(self._held) - 1
        self._made_on.pop(memory, None)
        self._of_default_dtype.pop(memory, None)

    def _observe_copy(self, name: str, inputs: list[Tensor], copy: Tensor, line: int) -> None:
        """Note a copy that repeats entries."""
        if name not in _COPIES or not inputs or len(self.copies) >= _MOST_FACTS:
            return
        source = inputs[0]
        entries = 1
        for size, stride in zip(source.shape, source.stride(), strict=True):
            entries *= size if stride else 1
        # In the dtype of the copy: a conversion alone repeats nothing.
        before, after = entries * copy.element_size(), copy.numel() * copy.element_size()
        if after >= max(2 * before, _LEAST_COPY):
            self.copies.append(CopyFact(line, before, after))

    def _observe_dtype(
        self, name: str, inputs: list[Tensor], kwargs: Any, result: Any, line: int
    ) -> None:
        if name == "_softmax" and inputs and inputs[0].dtype in _HALF:
            self.half_softmax.add(line)
        if not isinstance(result, Tensor):
            return
        origins = [
            self._made_on.get(_memory(tensor), 0)
            for tensor in inputs
            if tensor.device == result.device  # indices do not decide it
        ]
        if any(origins) or name == "lift_fresh":  # torch.tensor(...) lifts its result
            self._made_on.setdefault(_memory(result), max(origins, default=0) or line)
        if name in _FACTORIES and line:
            self._made_on[_memory(result)] = line
            if kwargs.get("dtype") is None and result.dim() and result.is_floating_point():
                self._of_default_dtype[_memory(result)] = line
            return
        floating = [tensor for tensor in inputs if tensor.is_floating_point() and tensor.dim()]
        lines = [self._of_default_dtype.get(_memory(tensor), 0) for tensor in floating]
        if not any(lines) or name == "_to_copy" or result.dtype is not torch.get_default_dtype():
            return
        if any(tensor.dtype in _HALF for tensor in floating):
            self.default_dtype |= {line for line in lines if line}
        elif all(lines):
            self._of_default_dtype[_memory(result)] = max(lines)

    def _on_one_device(self, line: int, args: Any, kwargs: Any) -> tuple[Any, Any]:
        """Note the line that made a tensor of another device. Return the arguments without it."""

        def moved(value: Any) -> Any:
            if isinstance(value, Tensor) and not value.is_meta and value.dim():
                self.other_device.add(self._made_on.get(_memory(value), line))
                return torch.empty_strided(
                    value.shape, value.stride(), dtype=value.dtype, device="meta"
                )
            if isinstance(value, list | tuple):
                return type(value)(map(moved, value))
            return value

        return moved(args), {name: moved(value) for name, value in kwargs.items()}


@contextmanager
def without_compiler() -> Iterator[None]:
    """While active, torch finds a stand-in for its compiler, whose import takes 1 s.

    torch's own Python code imports the compiler only to be left out by it. Nothing is compiled
    here, so the stand-in returns every function as it is. If the compiler is imported already, it
    stays.
    """
    if _COMPILER in sys.modules:
        yield
        return
    stand_in: Any = ModuleType(_COMPILER)
    stand_in.disable = lambda function, *_, **__: function
    sys.modules[_COMPILER] = stand_in
    try:
        yield
    finally:
        if sys.modules.get(_COMPILER) is stand_in:
            del sys.modules[_COMPILER]
        vars(torch).pop("_dynamo", None)


def realistic_facts(
    path: str,
    build: Callable[[], Any],
    call: Callable[[Any], object],
    start: Callable[[], None] | None = None,
) -> tuple[Facts, bool]:
    """Return the facts about a call on tensors without values.

    Python code may read a value that does not exist. All values are then true, or all are false if
    the call fails otherwise. If it still fails, tensors that the code makes have no values either.

    Returns:
        The facts, and True if the call succeeded. The facts of a failed call are partial.
    """
    for truth, on_device in (
        (True, nullcontext()),
        (False, nullcontext()),
        (True, torch.device("meta")),
    ):
        recorder = FactsRecorder(path, truth=truth, start=start)
        try:
            with without_compiler(), on_device, torch.no_grad():
                with without_first_weights():
                    implementation = build()
                if isinstance(implementation, nn.Module):
                    implementation = implementation.to("meta")
                with recorder:
                    call(implementation)
        except Exception:  # the next try follows
            continue
        return recorder.facts(), True
    return recorder.facts(), False


def unused_state(module: object, used: set[int]) -> list[str]:
    """Return the names of parameters and buffers whose memory no operation read."""
    if not isinstance(module, nn.Module):
        return []
    state = [*module.named_parameters(), *module.named_buffers()]
    names = [name for name, tensor in state if _memory(tensor) not in used]
    return [name[:200] for name in names[:_MOST_FACTS]]
