"""The worker: the one process that runs a submission. Forked by the fork server, ended after one request.

It is told inputs and weights, and tells tensors and what happened. It never sees a reference, a tolerance or an
expected value, and nothing that it says is believed unless the grader can compare it.
"""

from __future__ import annotations

import contextlib
import inspect
import os
import sys
import traceback
import types
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import msgspec
import torch
from torch import Tensor, nn

from trainer.worker import forbidden_ops
from trainer.worker.arguments import found_parameters
from trainer.worker.case_runner import CaseRunner, Hooks
from trainer.worker.channel import Channel
from trainer.worker.execution import Drive
from trainer.worker.guarded_call import GuardedCall
from trainer.worker.protocol import (
    COUNT,
    NOTE,
    PART,
    READY,
    CallFailure,
    Counted,
    Counts,
    NotAllowed,
    ReplyPart,
    Request,
    SubmittedFile,
    TensorTable,
    Tried,
    cap,
    encode,
    mark,
)
from trainer.worker.returns import describe

MODULE_NAME = "submission"
_RUNS_A_PART = 3


class Worker(Hooks):
    """One file on its way through a request: load, look at the interface, build, run every case, reply."""

    def __init__(
        self,
        request: Request,
        tensors: Sequence[Tensor],
        file: SubmittedFile,
        channel: Channel,
        folder: str,
    ) -> None:
        self.request, self.source = request, file.source
        self.channel = channel
        self.path = os.path.join(folder, Path(file.name).name)
        self.table = TensorTable()
        self.guarded = GuardedCall(self.path)
        self.runner = CaseRunner(request, tensors, self.guarded, self.table, self)
        self.reply = self.runner.reply
        self._told = 0
        self._watch: forbidden_ops.Watch | None = None

    def work(self, drive: Drive) -> bytes:
        """Do all that the request asks; returns the frame of the reply."""
        torch.manual_seed(self.request.random_seed)
        self._watch = forbidden_ops.watch(self._note_not_allowed)
        namespace = self._load_submission()
        self._watch.begin()
        if namespace is not None and self._has_entries(namespace):
            self._look_at_signatures(namespace)
            self.runner.run_all(namespace, drive)
        self.reply.runs = self.reply.runs[self._told :]
        return encode(self.reply, self.table)

    @cached_property
    def _code(self) -> types.CodeType:
        return compile(self.source, self.path, "exec")

    def note(self, number: int) -> None:
        """Say which run is about to start, so that a sudden death can be told with its case."""
        self.channel.send(NOTE, str(number).encode())

    def done(self, count: int) -> None:
        """Send what is done already, several runs at a time: the grader has a core of its own."""
        if self.request.purpose == "grade" and count >= self._told + _RUNS_A_PART:
            self._send(ReplyPart(self.runner.runs[self._told : count]))
            self._told = count

    def counted(self, number: int, counts: Counts) -> None:
        """Send the counts at once: the learner's code runs again before the reply is sent."""
        if self.request.purpose == "grade":
            self.channel.send(COUNT, msgspec.json.encode(Counted(number, counts)))

    def ready(self) -> None:
        """Wait until the grader has had the kernel forget how much memory was held so far."""
        self.channel.send(READY, b"")
        self.channel.receive()

    def several(self, look: Callable[[], Tried | None]) -> None:
        """Tell what each assignment gives before all runs are made with the first: the grader starts again where it knows better."""
        if self.request.purpose == "grade" and (tried := look()) is not None:
            self._send(ReplyPart([], tried))

    def _send(self, part: ReplyPart) -> None:
        table, self.table = self.table, TensorTable(self.table.first + len(self.table.specs))
        self.runner.table = self.table
        self.channel.send(PART, encode(part, table))

    def mark(self, part: str) -> None:
        """What is printed from here on belongs to this part: `import`, or the number of a run for its first call."""
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):  # the submission may have closed or replaced them
                stream.flush()
        with contextlib.suppress(OSError):
            os.write(1, mark(part))

    def _load_submission(self) -> dict[str, Any] | None:
        """Import the learner's file as a module of its own; None where that fails."""
        self.note(-1)
        self.mark("import")
        # On disk, so that tracebacks, inspect.getsource and torch.jit find the lines.
        Path(self.path).write_text(self.source, encoding="utf-8")
        namespace, self.reply.load_failure = self._import()
        return namespace

    def _import(self) -> tuple[dict[str, Any] | None, CallFailure | None]:
        module = types.ModuleType(MODULE_NAME)
        module.__file__ = self.path
        sys.modules[MODULE_NAME] = module
        failure = self.guarded.call("import", lambda: exec(self._code, module.__dict__))[1]
        return (None, failure) if failure else (module.__dict__, None)

    def afresh(self, namespace: dict[str, Any]) -> dict[str, Any]:
        """The submission imported once more, for what is counted: a table that it keeps for all of a length may be there from another case.

        The first import where another fails.
        """
        first = sys.modules.get(MODULE_NAME)
        with self._watch.unnoted() if self._watch is not None else contextlib.nullcontext():
            again = self._import()[0] or {}
        if first is not None:
            sys.modules[MODULE_NAME] = first
        return again if all(callable(again.get(name)) for name in self.request.entry) else namespace

    def _has_entries(self, namespace: dict[str, Any]) -> bool:
        self.reply.defined = [
            cap(name, 80)
            for name, value in namespace.items()
            if isinstance(name, str)
            and not name.startswith("__")
            and getattr(value, "__module__", None) == MODULE_NAME
            and callable(value)
        ][:40]
        for name in self.request.entry:
            if name not in namespace:
                self.reply.not_callable[name] = "missing"
            elif self.request.kind == "module" and not (
                isinstance(namespace[name], type) and issubclass(namespace[name], nn.Module)
            ):
                what = (
                    "a class that is no nn.Module"
                    if isinstance(namespace[name], type)
                    else describe(namespace[name])
                )
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
                self.reply.signatures[name] = found_parameters(thing, skip_self=False)
                continue
            for method in dir(thing):
                if method == "__init__" or not method.startswith("_"):
                    function = inspect.getattr_static(thing, method, None)
                    if method not in ("__init__", "forward") and function is vars(nn.Module).get(
                        method
                    ):
                        continue  # nobody asks for what every module has
                    if isinstance(function, types.FunctionType) or method in (
                        "__init__",
                        "forward",
                    ):
                        self.reply.signatures[f"{name}.{method}"] = found_parameters(
                            getattr(thing, method, None), skip_self=True
                        )
        if len(self.reply.signatures) > 200:
            self.reply.signatures = dict(list(self.reply.signatures.items())[:200])

    def _note_not_allowed(self, name: str) -> None:
        if len(self.reply.not_allowed) < 20:
            self.reply.not_allowed.append(
                NotAllowed(name, self.guarded.frames(traceback.extract_stack(limit=60)))
            )


def load_drive(request: Request) -> Drive:
    """Return how an implementation is called."""
    module = types.ModuleType("drive")
    exec(compile(request.drive_source, "<drive>", "exec"), module.__dict__)
    drive: Drive = module.__dict__["drive"]
    return drive
