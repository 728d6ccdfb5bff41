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
from attn_drill.worker.channel import Channel
from attn_drill.worker.execution import Drive
from attn_drill.worker.guarded_call import GuardedCall
from attn_drill.worker.library_calls import LibraryCalls
from attn_drill.worker.protocol import (
    NOTE,
    PART,
    NotAllowed,
    ReplyPart,
    Request,
    SubmittedFile,
    TensorTable,
    cap,
    encode,
    mark,
)
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
        self.channel = channel
        self.path = os.path.join(folder, Path(file.name).name)
        self.table = TensorTable()
        self.guarded = GuardedCall(self.path)
        rules = LibraryCalls(request.forbids, self._note_not_allowed)
        self.runner = CaseRunner(request, tensors, self.guarded, self.table, self, rules)
        self.reply = self.runner.reply
        self._sent_runs = 0

    def work(self, drive: Drive) -> bytes:
        """Carry out the request and return the encoded reply."""
        torch.manual_seed(self.request.random_seed)
        namespace = self._load_submission()
        if namespace is not None and self._has_entries(namespace):
            self._record_signatures(namespace)
            self.runner.run_all(namespace, drive)
        self.reply.runs = self.reply.runs[self._sent_runs :]
        return encode(self.reply, self.table)

    def start_run(self, run_index: int) -> None:
        """Send the index of the run that starts now, so that a sudden death is reported with it."""
        self.channel.send(NOTE, str(run_index).encode())

    def finish_runs(self, count: int) -> None:
        """Send the finished runs, several at a time. The grader reads them on another core."""
        if count < self._sent_runs + _RUNS_PER_PART:
            return
        part, table = ReplyPart(self.runner.runs[self._sent_runs : count]), self.table
        self._sent_runs = count
        self.table = TensorTable(table.first + len(table.specs))
        self.runner.table = self.table
        self.channel.send(PART, encode(part, table))

    def leaves_choice(self) -> bool:
        """Return True without a requested assignment: the grader finds out which is meant."""
        return not self.request.assignment

    def mark_output(self, part: str) -> None:
        """Mark the printed output from now on as one part.

        Args:
            part: `import`, the index of a run for its first call, or "".
        """
        for stream in (sys.stdout, sys.stderr):
            with contextlib.suppress(Exception):  # the submission may have closed or replaced it
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
        return None if self.reply.load_failure else module.__dict__

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
            elif self._is_module(name) and not (
                isinstance(namespace[name], type) and issubclass(namespace[name], nn.Module)
            ):
                description = (
                    "a class that is no nn.Module"
                    if isinstance(namespace[name], type)
                    else describe(namespace[name])
                )
                # A scripted or wrapped module class can still build modules.
                if not callable(namespace[name]) or isinstance(namespace[name], type):
                    self.reply.not_callable[name] = description
            elif not callable(namespace[name]):
                self.reply.not_callable[name] = describe(namespace[name])
            elif isinstance(namespace[name], type) and not self._is_class(name):
                self.reply.not_callable[name] = "a class"
        return not self.reply.not_callable

    def _is_module(self, name: str) -> bool:
        """Return if an entry must be an nn.Module."""
        return self.request.kind == "module" and name == self.request.entry[0]

    def _is_class(self, name: str) -> bool:
        """Return if an entry may be a class."""
        return self.request.kind != "function" and name == self.request.entry[0]

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
                    found = found_parameters(getattr(entry, method, None), skip_self=True)
                    self.reply.signatures[f"{name}.{method}"] = found
        if len(self.reply.signatures) > 200:
            self.reply.signatures = dict(list(self.reply.signatures.items())[:200])

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
