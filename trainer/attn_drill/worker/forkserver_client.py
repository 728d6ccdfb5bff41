"""The grader's side of the fork server, which has imported torch and forks a worker for each run.

The fork server must know nothing, because a worker can read all memory that the fork server had at
the time of the fork. So the fork server is forked from a process that was started with a clean
environment and without arguments (`attn_drill.server`), and before any reference is loaded. The
grader and the fork server communicate over a socket pair, so there is no address to which a
submission could connect, and no worker inherits the socket. A worker has only pipes. The code of
the fork server itself is in `_forkserver`.
"""

from __future__ import annotations

import contextlib
import fcntl
import gc
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from attn_drill.model.challenge import Limits
from attn_drill.model.errors import GraderError
from attn_drill.sandbox import confine, environment
from attn_drill.sandbox.isolation import (
    ROOM_INSIDE,
    Isolation,
    bubblewrap,
    chosen_isolation,
    descendants,
    remove_tree,
    start_in_bubblewrap,
)
from attn_drill.worker import _forkserver
from attn_drill.worker._forkserver import line_of
from attn_drill.worker.protocol import REPLY, message

_GONE_SECONDS = 5.0
_PIPE_BYTES = 1 << 20
_ANSWER_SECONDS = 120.0  # of silence, then it is lost

# The process id of a fork server, and the grader's end of the control socket.
Started = tuple[int, socket.socket]
_prepared: list[Started] = []


@dataclass(frozen=True)
class WorkerEnd:
    """The fork server's report on the end of a worker."""

    code: int  # its exit code, or minus its signal
    killed: bool  # it was still alive
    # The reason why the fork server ended the worker earlier, or "".
    ended_for: str = ""
    cpu: float = 0.0  # seconds of all threads


@dataclass(frozen=True)
class StartedWorker:
    """A worker that was forked, and the grader's ends of its pipes."""

    pid: int
    requests: int
    replies: int
    output: int  # what the worker prints
    # To read the lines that the worker was running when it crashed or its time was over.
    faults: int

    @property
    def pipes(self) -> tuple[int, int, int, int]:
        return self.requests, self.replies, self.output, self.faults

    def close_pipes(self) -> None:
        for descriptor in self.pipes:
            os.close(descriptor)


class ForkServerLostError(GraderError):
    """Raised if the fork server is gone or does not answer.

    A new fork server can do the same work again.
    """


def prepare() -> None:
    """Fork a fork server from this process now. The next `ForkServer` object uses it.

    Call this function in a process that knows nothing yet: every worker can read everything that
    this process knows.
    """
    _prepared.append(fork_here())


def fork_here() -> Started:
    """Fork a fork server from this process; return its process id and the control socket."""
    import torch  # noqa: PLC0415  # only the process that grades imports it

    # If torch's thread pool had run in this process, a forked worker might hang in its first
    # operation.
    torch.set_num_threads(1)
    grader_end, server_end = socket.socketpair()
    sys.stdout.flush()
    sys.stderr.flush()
    # torch's 200,000 objects are never freed. Hide them from the garbage collector, which would
    # take 60 ms to visit them.
    gc.freeze()
    pid = os.fork()
    if pid == 0:
        grader_end.close()
        for _, other_end in _prepared:
            other_end.close()
        _forkserver.serve(server_end)
    server_end.close()
    return pid, grader_end


def start_anew() -> Started:
    """Start a fork server in a fresh interpreter, which imports torch itself."""
    grader_end, server_end = socket.socketpair()
    code = f"from {_forkserver.__name__} import serve_alone; serve_alone({server_end.fileno()})"
    with server_end:
        process = subprocess.Popen(
            [sys.executable, "-c", code],
            cwd=environment.ROOT,
            env=environment.clean_environment(os.environ),
            pass_fds=(server_end.fileno(),),
            stdin=subprocess.DEVNULL,
        )
    process.returncode = 0  # `ForkServer.close` waits for it
    return process.pid, grader_end


start: Callable[[], Started] = start_anew


class ForkServer:
    """A fork server, from the grader's side. Create it before any file of `solutions/` is read.

    Args:
        isolation: the isolation of the workers; by default the best one of this machine.

    Raises:
        DrillError: if bubblewrap is requested but not installed.
    """

    def __init__(self, hidden: Iterable[Path], isolation: Isolation | None = None) -> None:
        self.isolation = isolation or chosen_isolation()
        if self.isolation == "bubblewrap":
            bubblewrap()  # raises an error before a folder is made
        readable = confine.readable_paths(hidden)
        self._room = tempfile.mkdtemp(prefix="attn-drill-")
        self._wrapper: subprocess.Popen[bytes] | None = None
        self._received = b""
        try:
            if self.isolation == "bubblewrap":
                self._control, server_end = socket.socketpair()
                with server_end:
                    self._wrapper = start_in_bubblewrap(server_end.fileno(), readable)
                self._pid = self._wrapper.pid
            else:
                self._pid, self._control = _prepared.pop() if _prepared else start()
        except BaseException:
            remove_tree(self._room)
            raise
        self._control.settimeout(_ANSWER_SECONDS)
        order = {"do": "open", "isolation": self.isolation, "readable": readable}
        try:
            self._send({**order, "room": self._room if self._wrapper is None else ROOM_INSIDE})
        except BaseException:
            self.close()
            raise

    def start_worker(
        self, limits: Limits, *, preloaded: bool = False, rehearsed: bool = False
    ) -> StartedWorker:
        """Fork a worker.

        Args:
            preloaded: True if the worker uses the preloaded request.
            rehearsed: True if the worker rehearses first, because its file comes later.
        """
        order = {"do": "run", "seconds": limits.seconds, "memory_bytes": limits.memory_bytes}
        order |= {"preloaded": preloaded, "rehearsed": rehearsed}
        worker_requests, requests = os.pipe()
        pairs = [os.pipe() for _ in range(3)]
        replies, output, faults = (reading for reading, _ in pairs)
        worker_ends = [worker_requests, *(writing for _, writing in pairs)]
        if hasattr(fcntl, "F_SETPIPE_SZ"):
            for pipe in (requests, replies):  # so that a writer need not wait for the reader
                with contextlib.suppress(OSError):  # it may not be allowed
                    fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)
        os.set_blocking(worker_ends[-1], False)  # faults are read at the end only
        try:
            pid = self._ask(order, worker_ends)["pid"]
        except BaseException:
            StartedWorker(0, requests, replies, output, faults).close_pipes()
            raise
        finally:
            for descriptor in worker_ends:
                os.close(descriptor)
        return StartedWorker(pid, requests, replies, output, faults)

    def interrupt(self, pid: int) -> bool:
        """Tell a worker that sleeps that its time is over; return whether it sleeps."""
        return bool(self._ask({"do": "interrupt", "pid": pid})["asleep"])

    def preload(self, frame: bytes) -> None:
        """Have the fork server read a request once for many workers, in place of the one before.

        Raises:
            GraderError: if the fork server cannot read the request.
        """
        reading, writing = os.pipe()
        try:
            self._send({"do": "preload"}, [reading])
        finally:
            os.close(reading)
        # If the write fails, the fork server's answer contains the error.
        with open(writing, "wb") as pipe, contextlib.suppress(OSError):
            pipe.write(message(REPLY, frame))
        self._answer()

    def end_worker(self, pid: int, *, patiently: bool) -> WorkerEnd:
        """Kill a worker and all its descendants.

        Args:
            patiently: wait a little before the kill, because the worker seems to be ending.
        """
        return WorkerEnd(**self._ask({"do": "end", "pid": pid, "patiently": patiently}))

    def close(self) -> None:
        """End the fork server. The fork server ends its workers first."""
        inside = list(descendants(self._wrapper.pid)) if self._wrapper is not None else []
        self._control.close()
        with contextlib.suppress(OSError):
            os.kill(self._pid, signal.SIGCONT)  # it may be stopped
        if self._wrapper is None:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._pid, 0)
        else:
            self._wrapper.wait()
        deadline = time.monotonic() + _GONE_SECONDS
        # The outer process of bubblewrap ends a moment before the processes inside.
        while any(os.path.exists(f"/proc/{pid}") for pid in inside) and time.monotonic() < deadline:
            time.sleep(0.005)
        remove_tree(self._room)

    def _ask(self, order: dict[str, Any], descriptors: list[int] | None = None) -> dict[str, Any]:
        self._send(order, descriptors)
        return self._answer()

    def _send(self, order: dict[str, Any], descriptors: list[int] | None = None) -> None:
        line, sent = line_of(order), 0
        try:
            if descriptors:
                # A line that is longer than the buffer of the socket is sent in part.
                sent = socket.send_fds(self._control, [line], descriptors)
            self._control.sendall(line[sent:])
        except OSError as error:
            raise ForkServerLostError(
                f"The process that starts workers is gone ({error}). Run the check again."
            ) from None

    def _answer(self) -> dict[str, Any]:
        while b"\n" not in self._received:
            try:
                part = self._control.recv(1 << 16)
            except OSError:  # also a timeout
                part = b""
            if not part:
                raise ForkServerLostError(
                    "The process that starts workers died. Run the check again; "
                    "`attn-drill doctor` shows what this machine can do."
                )
            self._received += part
        line, _, self._received = self._received.partition(b"\n")
        answer: dict[str, Any] = json.loads(line)
        if "error" in answer:
            raise GraderError(f"No worker could be started: {answer['error']}.")
        return answer
