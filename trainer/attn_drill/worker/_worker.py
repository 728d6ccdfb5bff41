"""The worker: the process that runs a submission.

The fork server forks a worker for each request and ends it afterwards. The worker receives inputs
and weights, and sends back tensors and a description of the run. It never sees a reference, a
tolerance or an expected value. The grader believes nothing in the reply unless it can compare it.
"""

from __future__ import annotations

import contextlib
import inspect
import io
import os
import sys
import tokenize
import traceback
import types
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn

from attn_drill.worker.arguments import found_parameters
from attn_drill.worker.case_runner import RECORDED, CaseRunner, Hooks
from attn_drill.worker.execution import Drive, GuardedCall
from attn_drill.worker.library_calls import TORCH, LibraryCalls, imports_of_torch
from attn_drill.worker.protocol import (
    NOTE,
    PART,
    Channel,
    FrameData,
    NotAllowed,
    Reply,
    Request,
    RunReply,
    SubmittedFile,
    TensorTable,
    cap,
    encode,
    mark,
)
from attn_drill.worker.pytest_runner import run_tests
from attn_drill.worker.returns import describe
from attn_drill.worker.torch_private import run_scripts_as_python

MODULE_NAME = "submission"
_RUNS_PER_PART = 3


class Worker(Hooks):
    """The work on one request: load the file, check its interface, build, run every case, reply."""

    def __init__(
        self,
        request: Request,
        tensors: Sequence[Tensor],
        file: SubmittedFile,
        channel: Channel,
        folder: str,
    ) -> None:
        self.request, self.source = request, file.source
        # Without a requested assignment, the grader finds out which one is meant.
        self.leaves_choice = not request.assignment
        self.channel = channel
        self.path = os.path.join(folder, Path(file.name).name)
        self.guarded = GuardedCall(self.path)
        rules = LibraryCalls(request.forbids, self._note_not_allowed)
        self.table = TensorTable()
        self.runner = CaseRunner(request, tensors, self.guarded, self.table, self, rules)
        self.reply = self.runner.reply
        self._sent_runs = 0
        self._part = ""  # of the printed output

    def work(self, drive: Drive) -> bytes:
        """Carry out the request and return the encoded reply."""
        torch.manual_seed(self.request.random_seed)
        if self.request.implementations:
            self._run_tests()
        else:
            namespace = self._load_submission()
            if namespace is not None and self._has_entries(namespace):
                self._record_signatures(namespace)
                self.runner.run_all(namespace, drive)
        self.reply.runs = self.reply.runs[self._sent_runs :]
        return encode(self.reply, self.table)

    def start_run(self, run_index: int) -> None:
        """Send the index of the run that starts now, so that a sudden death is reported with it."""
        self.channel.send(NOTE, str(run_index).encode())

    def finish_runs(self, count: int, at_least: int = _RUNS_PER_PART) -> None:
        """Send the finished runs, several at a time. The grader reads them on another core."""
        if count < self._sent_runs + at_least:
            return
        part, table = Reply(runs=self.runner.runs[self._sent_runs : count]), self.table
        self._sent_runs = count
        self.table = self.runner.table = TensorTable(table.first + len(table.specs))
        self.channel.send(PART, encode(part, table))

    def _run_tests(self) -> None:
        """Run the submission as a file of tests on each implementation."""
        Path(self.path).write_bytes(_encoded(self.source))
        runs = self.reply.runs = self.runner.runs
        for index, implementation in enumerate(self.request.implementations):
            self.start_run(index)
            torch.manual_seed(self.request.random_seed)
            tests = run_tests(self.path, self.request.tested_module, implementation)
            runs.append(RunReply(tests=tests))
            self.finish_runs(len(runs), 1)

    def mark_output(self, part: str) -> None:
        """Mark the printed output from now on as one part."""
        if part == self._part:
            return
        self._part = part
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):  # it may be closed or replaced
                stream.flush()
        with contextlib.suppress(OSError):
            os.write(1, mark(part))

    def _load_submission(self) -> dict[str, Any] | None:
        """Import the learner's file as a module; return its namespace, or None if it fails."""
        self.start_run(-1)
        self.mark_output("import")
        # The file must be on the disk, so that tracebacks, inspect.getsource and torch.jit find the
        # lines.
        Path(self.path).write_bytes(_encoded(self.source))
        if any(call.observe in RECORDED for run in self.request.runs for call in run.calls):
            run_scripts_as_python()
        module = types.ModuleType(MODULE_NAME)
        module.__file__ = self.path
        sys.modules[MODULE_NAME] = module

        def run_file() -> None:
            exec(compile(self.source, self.path, "exec", dont_inherit=True), module.__dict__)

        _, self.reply.load_failure = self.guarded.call("import", run_file)
        if self.reply.load_failure is None and TORCH in self.request.forbids:
            frames = [FrameData(line, "", "") for line in imports_of_torch(self.source)]
            self.reply.not_allowed += [NotAllowed(TORCH, True, [frame]) for frame in frames[:1]]
        return None if self.reply.load_failure else module.__dict__

    def _has_entries(self, namespace: dict[str, Any]) -> bool:
        defined: list[str] = []
        for name, value in namespace.items():
            if not isinstance(name, str) or name.startswith("__"):
                continue
            if getattr(value, "__module__", None) == MODULE_NAME and callable(value):
                defined.append(cap(name, 80))
        self.reply.defined = defined[:40]
        problems = {name: self._problem_of(name, namespace) for name in self.request.entry}
        self.reply.not_callable = {name: problem for name, problem in problems.items() if problem}
        return not self.reply.not_callable

    def _problem_of(self, name: str, namespace: dict[str, Any]) -> str:
        """Return in words what a required name is, if it cannot be called as it must be, or ""."""
        if name not in namespace:
            return "missing"
        value, kind = namespace[name], self.request.kind
        is_first = name == self.request.entry[0]
        if not isinstance(value, type):
            return "" if callable(value) else describe(value)
        if kind == "module" and is_first:
            return "" if issubclass(value, nn.Module) else "a class that is no nn.Module"
        return "a class" if kind == "function" or not is_first else ""

    def _record_signatures(self, namespace: dict[str, Any]) -> None:
        for name in self.request.entry:
            entry = namespace[name]
            if not isinstance(entry, type):
                self.reply.signatures[name] = found_parameters(entry, skip_self=False)
                continue
            for method in dir(entry):
                function = inspect.getattr_static(entry, method, None)
                # Every nn.Module has its methods. But its `__init__` may be enough for a file, and
                # an object may have a `forward` that its class lacks.
                is_inherited = function is vars(nn.Module).get(method)
                is_own = isinstance(function, types.FunctionType) and not is_inherited
                if method in ("__init__", "forward") or (is_own and method[:1] != "_"):
                    parameters = found_parameters(getattr(entry, method, None), skip_self=True)
                    self.reply.signatures[f"{name}.{method}"] = parameters

    def _note_not_allowed(self, name: str, is_by_challenge: bool) -> None:
        if len(self.reply.not_allowed) < 20:
            frames = self.guarded.frames(reversed([*traceback.walk_stack(sys._getframe())]))
            self.reply.not_allowed.append(NotAllowed(name, is_by_challenge, frames))


def load_drive(request: Request) -> Drive:
    """Return the function `drive` of a request, which calls an implementation."""
    module = types.ModuleType("drive")
    exec(compile(request.drive_source, "<drive>", "exec", dont_inherit=True), module.__dict__)
    drive: Drive = module.__dict__["drive"]
    return drive


def _encoded(source: str) -> bytes:
    """Return a source in the encoding that it declares, because readers of the file use it."""
    as_utf8 = source.encode("utf-8", "surrogatepass")
    try:
        encoding, _ = tokenize.detect_encoding(io.BytesIO(as_utf8).readline)
        return source.encode(encoding)
    except (SyntaxError, UnicodeError, LookupError):
        return as_utf8
