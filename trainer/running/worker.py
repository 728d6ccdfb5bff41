"""The worker: the one process that runs a submission. Forked by the zygote, ended after one request.

It is told inputs and weights, and tells tensors and what happened. It never sees a reference, a tolerance or an
expected value, and nothing that it says is believed unless the grader can compare it.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import socket
import sys
import traceback
import types
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from trainer.running import aliases, from_scratch, weights
from trainer.running.counting import Counter, count_in_threads, counted_by
from trainer.running.execution import Drive, Given, build, gradients, lay_out, leaves, map_leaves, module_parameters, overwrite
from trainer.running.protocol import (
    DTYPES,
    MOST_DIMS,
    MOST_TENSOR_BYTES,
    NOTE,
    Failure,
    FoundParameter,
    FrameData,
    NotAllowed,
    Reply,
    Request,
    Returned,
    Run,
    RunReply,
    TensorTable,
    cap,
    decode,
    encode,
    fill,
    mark,
    message,
)
from trainer.running.returns import UnexpectedReturnError, describe, plain_value

MODULE_NAME = "submission"
_LITERALS = (int, float, str, bool, type(None))


class Worker:
    """One request on its way through: load, look at the interface, build, run every case, reply."""

    def __init__(self, frame: bytes, channel: socket.socket, folder: str) -> None:
        self.request, self.tensors = decode(frame, Request)
        self.channel = channel
        self.path = os.path.join(folder, Path(self.request.file_name).name)
        self.table = TensorTable()
        self.reply = Reply()
        self.contracts: list[aliases.Contract] = []

    def work(self) -> bytes:
        """Do all that the request asks; returns the frame of the reply."""
        torch.manual_seed(self.request.random_seed)
        drive = self._load_drive()
        from_scratch.forbid(self._note_not_allowed)
        count_in_threads()
        namespace = self._load_submission()
        if namespace is not None and self._has_entries(namespace):
            self._look_at_signatures(namespace)
            self._run_all(namespace, drive)
        return encode(self.reply, self.table)

    def note(self, number: int) -> None:
        """Say which run is about to start, so that a sudden death can be told with its case."""
        self.channel.sendall(message(NOTE, str(number).encode()))

    def mark(self, part: str) -> None:
        """What is printed from here on belongs to this part: `import`, or the number of a run for its first call."""
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):  # the submission may have closed or replaced them
                stream.flush()
        with contextlib.suppress(OSError):
            os.write(1, mark(part))

    def _load_drive(self) -> Drive:
        module = types.ModuleType("cases")
        module.__file__ = self.request.cases_path
        exec(compile(self.request.cases_source, self.request.cases_path, "exec"), module.__dict__)
        drive: Drive = module.__dict__["drive"]
        return drive

    def _load_submission(self) -> dict[str, Any] | None:
        """Import the learner's file as a module of its own; None where that fails."""
        self.note(-1)
        self.mark("import")
        # On disk, so that tracebacks, inspect.getsource and torch.jit find the lines.
        Path(self.path).write_text(self.request.source, encoding="utf-8")
        namespace, self.reply.load_failure = self._import()
        return namespace

    def _import(self) -> tuple[dict[str, Any] | None, Failure | None]:
        module = types.ModuleType(MODULE_NAME)
        module.__file__ = self.path
        sys.modules[MODULE_NAME] = module
        failure = self._attempt("import", lambda: exec(compile(self.request.source, self.path, "exec"), module.__dict__))[1]
        return (None, failure) if failure else (module.__dict__, None)

    def _afresh(self, namespace: dict[str, Any]) -> dict[str, Any]:
        """The submission imported once more, for what is counted: a table that it keeps for all of a length may be there from another case.

        The first import where another fails.
        """
        first = sys.modules.get(MODULE_NAME)
        again = self._import()[0] or {}
        if first is not None:
            sys.modules[MODULE_NAME] = first
        return again if all(callable(again.get(name)) for name in self.request.entry) else namespace

    def _has_entries(self, namespace: dict[str, Any]) -> bool:
        self.reply.defined = [
            cap(name, 80)
            for name, value in namespace.items()
            if isinstance(name, str) and not name.startswith("__") and getattr(value, "__module__", None) == MODULE_NAME and callable(value)
        ][:40]
        for name in self.request.entry:
            if name not in namespace:
                self.reply.not_callable[name] = "missing"
            elif self.request.kind == "module" and not (isinstance(namespace[name], type) and issubclass(namespace[name], nn.Module)):
                what = "a class that is no nn.Module" if isinstance(namespace[name], type) else describe(namespace[name])
                # A scripted or wrapped module class is still something that builds modules.
                if not callable(namespace[name]) or isinstance(namespace[name], type):
                    self.reply.not_callable[name] = what
            elif not callable(namespace[name]):
                self.reply.not_callable[name] = describe(namespace[name])
        return not self.reply.not_callable

    def _look_at_signatures(self, namespace: dict[str, Any]) -> None:
        for name in self.request.entry:
            thing = namespace[name]
            if not isinstance(thing, type):
                self.reply.signatures[name] = _signature(thing, skip_self=False)
                continue
            for method in dir(thing):
                if method == "__init__" or not method.startswith("_"):
                    function = inspect.getattr_static(thing, method, None)
                    if isinstance(function, types.FunctionType) or method in ("__init__", "forward"):
                        self.reply.signatures[f"{name}.{method}"] = _signature(getattr(thing, method, None), skip_self=True)
        if len(self.reply.signatures) > 200:
            self.reply.signatures = dict(list(self.reply.signatures.items())[:200])

    def _run_all(self, namespace: dict[str, Any], drive: Drive) -> None:
        self.reply.runs = [RunReply() for _ in self.request.runs]
        built = [self._build(number, run, namespace) for number, run in enumerate(self.request.runs)]
        chosen = self._choose_assignment(built)
        for number, (run, implementation, contract) in enumerate(zip(self.request.runs, built, self.contracts, strict=True)):
            if implementation is None:
                continue
            told = self.reply.runs[number]
            if isinstance(implementation, nn.Module):
                if chosen is None or told.unassigned:
                    told.unassigned = True
                    if number == 0:  # its values mean nothing, but it may still call what is not allowed
                        self._attempt("forward", partial(drive, implementation, Given(self._inputs(run, run.inputs), run.sizes)))
                    continue
                values = {name: self.tensors[index] for name, index in run.parameters.items()}
                weights.load(implementation, contract, chosen, values)
            self.note(number)
            self._run(number, implementation, drive, contract, chosen)
        for index, init in enumerate(self.request.refusals):
            self.note(len(self.request.runs) + index)
            self.reply.refusals.append(self._attempt("construct", partial(namespace[self.request.entry[0]], **init))[1])

    def _build(self, number: int, run: Run, namespace: dict[str, Any]) -> Any:
        self.note(number)
        if run.probe:
            namespace = self._afresh(namespace)
        self.mark(str(number))
        expected = {name: tuple(self.tensors[index].shape) for name, index in run.parameters.items()}
        self.contracts.append(aliases.contract_of(expected))
        implementation, failure = self._attempt(
            "construct", lambda: build(namespace, self.request.kind, self.request.entry, run.init, DTYPES[run.dtype], run.mode)
        )
        self.mark("")
        told = self.reply.runs[number]
        told.failure = failure
        if failure is None and isinstance(implementation, nn.Module):
            shapes, failure = self._attempt("construct", lambda: weights.parameter_shapes(implementation))
            if failure is not None:
                told.failure = failure
                return None
            told.parameters = {cap(name, 200): list(shape) for name, shape in list(shapes.items())[:200]}
            told.shared = {cap(name, 200): cap(other, 200) for name, other in list(weights.shared_parameters(implementation).items())[:200]}
        elif failure is None and self.request.kind == "module":
            told.failure = Failure("construct", "TypeError", f"{self.request.entry[0]}(…) gives {describe(implementation)}, which is no nn.Module")
            return None
        return None if failure else implementation

    def _choose_assignment(self, built: list[Any]) -> aliases.Assignment | None:
        """One assignment of the learner's layers that fits every case; which of several, the request says."""
        common: list[aliases.Assignment] | None = None
        for implementation, contract, told in zip(built, self.contracts, self.reply.runs, strict=True):
            if not isinstance(implementation, nn.Module):
                continue
            possible = aliases.assignments(contract, {name: tuple(shape) for name, shape in told.parameters.items()})
            if not possible:
                told.unassigned = True
                continue
            common = possible if common is None else [one for one in common if one in possible] or common
        if not common:
            return None
        chosen = common[min(self.request.assignment, len(common) - 1)]
        self.reply.assignments = len(common)
        self.reply.assignment = {path: list(roles) for path, roles in chosen.items()}
        return chosen

    def _inputs(self, run: Run, tree: dict[str, Any]) -> dict[str, Any]:
        given: dict[str, Any] = {name: fill(value, self.tensors) for name, value in tree.items()}
        return map_leaves(given, lambda name, tensor: lay_out(tensor, run.layout.get(name.partition("[")[0])))

    def _with_values(self, run: Run, given: dict[str, Any], tree: dict[str, Any]) -> dict[str, Any]:
        """The same tensors with these values; new ones if the submission has changed their shape or made them unwritable."""
        pairs = list(zip(leaves(given), leaves({name: fill(value, self.tensors) for name, value in tree.items()}), strict=True))
        if any(tensor.shape != values.shape for (_, tensor), (_, values) in pairs):
            return self._inputs(run, tree)
        try:
            for (_, tensor), (_, values) in pairs:
                overwrite(tensor, values)
        except RuntimeError:
            return self._inputs(run, tree)
        return given

    def _run(self, number: int, implementation: Any, drive: Drive, contract: aliases.Contract, chosen: aliases.Assignment | None) -> None:
        """A call without gradients, one with, and one on new values in the same memory."""
        run, told = self.request.runs[number], self.reply.runs[number]
        given = self._inputs(run, run.inputs)
        counter = Counter() if run.probe else None

        def call(inputs: dict[str, Any], *, grad: bool) -> dict[str, Any]:
            with torch.set_grad_enabled(grad):
                return drive(implementation, Given(inputs, run.sizes))

        def counted() -> dict[str, Any]:
            if counter is None:
                return call(given, grad=False)
            with counted_by(counter):
                return call(given, grad=False)

        self.mark(str(number))
        outputs, told.failure = self._attempt("forward", counted)
        self.mark("")
        if counter is not None:
            told.operations, told.largest, told.flops = counter.operations, counter.largest, counter.flops
        told.inputs_after = {name: self.table.add(tensor) for name, tensor in leaves(given)}
        if told.failure is not None:
            return
        told.outputs, told.failure = self._attempt("forward", partial(self._told, outputs))
        if told.failure is not None:
            told.outputs = {}
            return
        if run.probe == "memory":
            self._count_with_gradients(run, told, call)
        if run.probe:
            return
        given = self._with_values(run, given, run.inputs)
        if run.differentiable or run.cotangents:
            self._run_gradients(run, told, implementation, given, call, contract, chosen)
        self._run_again(run, told, given, outputs, call)

    def _count_with_gradients(self, run: Run, told: RunReply, call: Callable[..., dict[str, Any]]) -> None:
        """The largest tensor of a forward pass that records gradients: it may take another way."""
        inputs = map_leaves(self._inputs(run, run.inputs), lambda _, tensor: tensor.requires_grad_(tensor.is_floating_point()))
        counter = Counter()
        with counted_by(counter):
            told.failure = self._attempt("forward with gradients", lambda: call(inputs, grad=True))[1]
        told.largest = max(told.largest, counter.largest)

    def _run_gradients(
        self,
        run: Run,
        told: RunReply,
        implementation: Any,
        given: dict[str, Any],
        call: Callable[..., dict[str, Any]],
        contract: aliases.Contract,
        chosen: aliases.Assignment | None,
    ) -> None:
        inputs = map_leaves(given, lambda name, tensor: tensor.detach().requires_grad_(name in run.differentiable))
        outputs, failure = self._attempt("forward with gradients", lambda: call(inputs, grad=True))
        if failure is not None:
            told.gradient_failure = failure
            return
        told.outputs_with_gradients, told.gradient_failure = self._attempt("forward with gradients", partial(self._told, outputs))
        if told.gradient_failure is not None:
            told.outputs_with_gradients = {}
            return
        own = module_parameters(implementation)
        wrt = {f"input {name}": tensor for name, tensor in leaves(inputs) if name in run.differentiable}
        wrt |= {f"parameter {name}": parameter for name, parameter in own.items()}
        cotangents = {name: self.tensors[index] for name, index in run.cotangents.items()}
        found, told.gradient_failure = self._attempt("backward", lambda: gradients(outputs, cotangents, wrt))
        if told.gradient_failure is not None:
            return
        of_inputs = {name.removeprefix("input "): value for name, value in found.items() if name.startswith("input ")}
        if chosen is not None:
            shapes = {name: tuple(self.tensors[index].shape) for name, index in run.parameters.items()}
            of_own = {name: found[f"parameter {name}"] for name in own}
            of_inputs |= weights.by_contract(contract, chosen, of_own, shapes)
        told.gradients = {name: self.table.add(value) for name, value in of_inputs.items() if _is_sendable(value)}

    def _run_again(self, run: Run, told: RunReply, given: dict[str, Any], first: dict[str, Any], call: Callable[..., dict[str, Any]]) -> None:
        """New values in the same memory, then the first values in new memory.

        An answer or a mask kept from an earlier call, by value or by reference, is wrong in one of them; and the first results must stay.
        """
        memory = {tensor.untyped_storage().data_ptr() for _, tensor in leaves(given)}
        before = {name: value.detach().clone() for name, value in first.items() if _is_sendable(value) and value.untyped_storage().data_ptr() not in memory}
        given = self._with_values(run, given, run.again)
        outputs, told.again_failure = self._attempt("second call", lambda: call(given, grad=False))
        if told.again_failure is None:
            told.outputs_again = self._attempt("second call", partial(self._told, outputs))[0] or {}
            told.overwritten = [name for name, value in before.items() if not torch.equal(value.nan_to_num(), first[name].nan_to_num())]
            once_more, told.again_failure = self._attempt("second call", lambda: self._told(call(self._inputs(run, run.inputs), grad=False)))
            told.outputs_once_more = once_more or {}

    def _told(self, outputs: Any) -> dict[str, Returned]:
        told: dict[str, Returned] = {}
        for name, value in outputs.items():
            if not isinstance(value, Tensor):
                plain, text = plain_value(value)
                told[name] = Returned(cap(describe(value)), plain=plain, text=cap(text, 200))
                continue
            if (odd := _oddity(value)) is not None:
                told[name] = Returned(odd)
                continue
            kind = str(value.dtype).removeprefix("torch.")
            told[name] = Returned("a tensor", list(value.shape), kind, value.device.type, self.table.add(value) if _is_sendable(value) else -1)
        return told

    def _attempt(self, phase: str, action: Callable[[], Any]) -> tuple[Any, Failure | None]:
        """Run the learner's code; whatever it raises becomes a Failure."""
        try:
            return action(), None
        except BaseException as error:  # SystemExit and KeyboardInterrupt too: the learner's code may raise anything
            return None, self._failure(phase, error)

    def _failure(self, phase: str, error: BaseException) -> Failure:
        """Words for an exception, which may itself be made to raise when it is looked at."""
        try:
            return self._described(phase, error)
        except BaseException:
            return Failure(phase, "Exception", "an exception that cannot be shown")

    def _described(self, phase: str, error: BaseException) -> Failure:
        text = _text_of(error)
        if isinstance(error, SyntaxError) and type(error).__module__ == "builtins" and str(error.filename) == self.path:
            line = error.lineno if isinstance(error.lineno, int) and 0 <= error.lineno <= 10**9 else 0
            frames = [FrameData(line, "", cap(str(error.text or "").strip(), 200))]
            text = str(error.msg)
        else:
            frames = self._frames(traceback.extract_tb(error.__traceback__, limit=-40))
        if isinstance(error, UnexpectedReturnError):
            frames = []
        if phase == "import" and isinstance(error, MemoryError) and not frames:
            return Failure(phase, "SyntaxError", "the file is nested too deeply for Python's parser")
        return Failure(phase, cap(type(error).__name__, 200), cap(text), frames, is_out_of_memory(error))

    def _frames(self, stack: traceback.StackSummary) -> list[FrameData]:
        own = [frame for frame in stack if frame.filename == self.path]
        return [FrameData(frame.lineno or 0, cap(frame.name, 100), cap((frame.line or "").strip(), 200)) for frame in own[-8:]]

    def _note_not_allowed(self, name: str) -> None:
        if len(self.reply.not_allowed) < 20:
            self.reply.not_allowed.append(NotAllowed(name, self._frames(traceback.extract_stack(limit=60))))


def _oddity(value: Tensor) -> str | None:
    """What makes a tensor no ordinary one, in words."""
    if value.is_nested:
        return "a nested tensor"
    if value.layout is not torch.strided:
        return f"a tensor of layout {value.layout}"
    if value.is_quantized:
        return "a quantized tensor"
    return f"a tensor of {value.dim()} dims" if value.dim() > MOST_DIMS else None


def _is_sendable(value: Any) -> bool:
    return (
        isinstance(value, Tensor)
        and _oddity(value) is None
        and value.device.type == "cpu"
        and str(value.dtype).removeprefix("torch.") in DTYPES
        and value.numel() * value.element_size() <= MOST_TENSOR_BYTES
    )


def is_out_of_memory(error: BaseException) -> bool:
    """Whether Python or torch's allocator asked for more than the limit."""
    return isinstance(error, MemoryError) or "can't allocate memory" in _text_of(error)


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "(its message cannot be shown)"


def _signature(thing: Any, *, skip_self: bool) -> list[FoundParameter] | None:
    """The arguments of a callable, or None where Python cannot tell (a scripted function, say)."""
    try:
        parameters = list(inspect.signature(thing).parameters.values())
    except (ValueError, TypeError):
        return None
    if skip_self:
        parameters = parameters[1:]
    return [
        FoundParameter(
            cap(one.name, 100),
            one.kind.name,  # type: ignore[arg-type]  # inspect's five kinds are the five of the protocol
            one.default is one.empty,
            cap(repr(one.default), 200) if one.default is not one.empty and type(one.default) in _LITERALS else None,
        )
        for one in parameters[:50]
    ]
