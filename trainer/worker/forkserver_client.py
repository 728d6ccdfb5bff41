"""The grader's handle of the fork server: a process with torch imported and nothing else, which forks one worker for every run.

The fork server must know nothing: every worker can read all memory that the fork server had when it forked the worker. So the
fork server comes from a process that was started with an environment and arguments of its own (`launch`), and it is forked
before any reference is loaded. Grader and fork server speak over a socketpair, so there is no address that a submission
could connect to, and no worker inherits it. A worker has pipes alone. `forkserver` has the fork server's own code.
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
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

from trainer.model.errors import GraderError
from trainer.sandbox import confine, environment
from trainer.sandbox.isolation import (
    ROOM_INSIDE,
    Isolation,
    bubblewrap,
    chosen_isolation,
    descendants,
    remove_tree,
    start_in_bubblewrap,
)
from trainer.worker import forkserver
from trainer.worker.forkserver import line_of
from trainer.worker.protocol import REPLY, message

_GONE_SECONDS = 5.0
_PIPE_BYTES = 1 << 20
_ANSWER_SECONDS = 120.0  # a fork server that does not answer for so long is lost


@dataclass(frozen=True)
class Limits:
    """Bounds on one run of a worker.

    seconds         CPU time of all its threads from when it has the file; other load on the machine does not count.
                    A worker that sleeps has several times as long (`forkserver.SLEEP_FACTOR`)
    memory_bytes    beyond torch's own
    """

    seconds: float = 10.0
    memory_bytes: int = 2048 << 20


@dataclass(frozen=True)
class WorkerEnd:
    """How a worker was ended.

    status      its wait status
    killed      whether it was still alive
    ended_for   why the fork server had ended it before: it took more than its share of something
    out_of      "cpu" where its CPU time was used up, "sleep" where it slept for too long
    family      how many processes of its own were left behind, and ended with it
    most_bytes  the most memory that it ever held, as the kernel counts it
    cpu         the CPU seconds of all its threads, from its beginning
    """

    status: int
    killed: bool
    ended_for: str = ""
    out_of: Literal["", "cpu", "sleep"] = ""
    family: int = 0
    most_bytes: int = 0
    cpu: float = 0.0


def _widen(pipe: int) -> None:
    """Make a pipe so large that a writer does not wait for the reader (Linux)."""
    if hasattr(fcntl, "F_SETPIPE_SZ"):
        with contextlib.suppress(OSError):  # where the system allows no more than it gives at first
            fcntl.fcntl(pipe, fcntl.F_SETPIPE_SZ, _PIPE_BYTES)


class ForkServerLostError(GraderError):
    """The fork server is gone or does not answer. A new fork server can do the same work again."""


Started = tuple[
    int, socket.socket
]  # the fork server's process, and the grader's end of the control socket
_prepared: list[Started] = []


def prepare() -> None:
    """Fork a fork server from this process now, for the first `ForkServer` that will be asked for.

    Call it in a process that knows nothing yet: all that it knows, every worker can read.
    """
    _prepared.append(fork_here())


def fork_here() -> Started:
    """Fork a fork server from this process."""
    import torch  # noqa: PLC0415  # `launch` reports an ImportError later

    # A worker forked from a process whose thread pool has run may hang in its first operation.
    torch.set_num_threads(1)
    mine, its = socket.socketpair()
    sys.stdout.flush()
    sys.stderr.flush()
    # torch's 200,000 objects stay for good: out of the collector's sight, which would take 60 ms to walk over them.
    gc.freeze()
    pid = os.fork()
    if pid == 0:
        mine.close()
        for _, others in _prepared:
            others.close()
        forkserver.serve(its)
    its.close()
    return pid, mine


def start_anew() -> Started:
    """Start a fork server in a fresh interpreter, which imports torch itself."""
    mine, its = socket.socketpair()
    with its:
        process = subprocess.Popen(
            [*environment.command(), forkserver.__name__, str(its.fileno())],
            cwd=environment.ROOT,
            env=environment.clean_environment(os.environ),
            pass_fds=(its.fileno(),),
            stdin=subprocess.DEVNULL,
        )
    process.returncode = 0  # `ForkServer.close` waits for it
    return process.pid, mine


start: Callable[[], Started] = start_anew


class ForkServer:
    """Have it before anything of `solutions/` is read; close it when done.

    Args:
        hidden: folders of which no worker may read anything.
        isolation: how workers are shut off; by default as this machine can.
    """

    def __init__(self, hidden: Iterable[Path], isolation: Isolation | None = None) -> None:
        self.isolation = isolation or chosen_isolation()
        if self.isolation == "bubblewrap":
            bubblewrap()  # before anything is made that would be left behind
        readable = confine.readable_paths(hidden)
        self._room = tempfile.mkdtemp(prefix="attn-drill-")
        self._wrapper: subprocess.Popen[bytes] | None = None
        if self.isolation == "bubblewrap":
            mine, its = socket.socketpair()
            with its:
                self._wrapper = start_in_bubblewrap(its.fileno(), readable)
            self._pid, self._control = self._wrapper.pid, mine
        else:
            self._pid, self._control = _prepared.pop() if _prepared else start()
        self._control.settimeout(_ANSWER_SECONDS)
        self._received = b""
        self._dismissed = 0  # orders whose answers nobody has read yet
        room = self._room if self._wrapper is None else ROOM_INSIDE
        self._send({"do": "open", "room": room, "isolation": self.isolation, "readable": readable})

    def start_worker(
        self, limits: Limits, *, held: bool = False, rehearsed: bool = False, measured: bool = False
    ) -> tuple[int, int, int, int]:
        """Fork a worker.

        Args:
            held: whether it is to meet the request that is held.
            rehearsed: whether it is to rehearse, because its file comes later.
            measured: whether the kernel's count of its memory will be read.

        Returns:
            Its pid, and the descriptors to send to it, to read its replies, and to read what it prints.
        """
        order = {"do": "run", "seconds": limits.seconds, "memory_bytes": limits.memory_bytes}
        return self._start({**order, "held": held, "rehearsed": rehearsed, "measured": measured})

    def start_probe(self, limits: Limits, asked: Mapping[str, Any]) -> tuple[int, int, int, int]:
        """Fork a worker that tries what a submission might (`probe.try_all`)."""
        return self._start(
            {
                "do": "probe",
                "seconds": limits.seconds,
                "memory_bytes": limits.memory_bytes,
                "asked": dict(asked),
            }
        )

    def _start(self, order: dict[str, Any]) -> tuple[int, int, int, int]:
        its_requests, requests = os.pipe()
        replies, its_replies = os.pipe()
        output, its_output = os.pipe()
        _widen(requests)
        _widen(replies)
        try:
            pid = self._ask(order, [its_requests, its_replies, its_output])["pid"]
        except BaseException:
            for descriptor in (requests, replies, output):
                os.close(descriptor)
            raise
        finally:
            for descriptor in (its_requests, its_replies, its_output):
                os.close(descriptor)
        return pid, requests, replies, output

    def start_clock(self, pid: int) -> None:
        """Say that a worker is about to get its file: its time counts from here on."""
        self._send({"do": "clock", "pid": pid})
        self._dismissed += 1

    def forget_peak(self, pid: int) -> None:
        """Have the kernel count from now on how much memory a worker holds at most, where it can."""
        if self._wrapper is not None:  # its number is another outside
            self._ask({"do": "forget peak", "pid": pid})
        else:  # to the fork server all of the file system is read-only
            forkserver.forget_peak(pid)

    def preload(self, frame: bytes) -> None:
        """Have the fork server read a request once for all workers that are to meet it. It takes the place of the one before."""
        reading, writing = os.pipe()
        try:
            self._send({"do": "preload"}, [reading])
        finally:
            os.close(reading)
        with (
            open(writing, "wb") as pipe,
            contextlib.suppress(OSError),
        ):  # the answer says what went wrong
            pipe.write(message(REPLY, frame))
        self._answer()

    def end_worker(self, pid: int, *, patiently: bool) -> WorkerEnd:
        """Kill a worker and all its family. `patiently`: it seems to be ending alone."""
        return WorkerEnd(**self._ask({"do": "end", "pid": pid, "patiently": patiently}))

    def dismiss_worker(self, pid: int) -> None:
        """The same for a worker that has replied: nobody waits for its end."""
        self._send({"do": "end", "pid": pid, "patiently": False})
        self._dismissed += 1

    def settle(self) -> None:
        """Wait until all that were dismissed are gone."""
        while self._dismissed:
            self._dismissed -= 1
            self._line_of_answer()

    def close(self) -> None:
        """End the fork server; it ends its workers first."""
        inside = list(descendants(self._wrapper.pid)) if self._wrapper is not None else []
        try:
            self.settle()  # answers left unread would reset the connection
        except GraderError:
            with contextlib.suppress(
                OSError
            ):  # it may be stopped, and would never read that it is to end
                os.kill(self._pid, signal.SIGKILL)
        self._control.close()
        if self._wrapper is not None:
            self._wrapper.wait()
            deadline = time.monotonic() + _GONE_SECONDS
            while (
                any(os.path.exists(f"/proc/{pid}") for pid in inside)
                and time.monotonic() < deadline
            ):
                time.sleep(
                    0.005
                )  # bubblewrap's outer process is gone a moment before what it has started
        else:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._pid, 0)
        remove_tree(self._room)

    def _ask(self, order: dict[str, Any], descriptors: list[int] | None = None) -> dict[str, Any]:
        self._send(order, descriptors)
        return self._answer()

    def _send(self, order: dict[str, Any], descriptors: list[int] | None = None) -> None:
        try:
            if descriptors:
                socket.send_fds(self._control, [line_of(order)], descriptors)
            else:
                self._control.sendall(line_of(order))
        except OSError as error:
            raise ForkServerLostError(
                f"The process that starts workers is gone ({error}). Run the check again."
            ) from None

    def _answer(self) -> dict[str, Any]:
        self.settle()
        told: dict[str, Any] = json.loads(self._line_of_answer())
        if "error" in told:
            raise GraderError(f"No worker could be started: {told['error']}.")
        return told

    def _line_of_answer(self) -> bytes:
        while b"\n" not in self._received:
            try:
                part = self._control.recv(1 << 16)
            except OSError:  # a time-out too
                part = b""
            if not part:
                raise ForkServerLostError(
                    "The process that starts workers died. Run the check again; `attn-drill doctor` shows what this machine can do."
                )
            self._received += part
        line, _, self._received = self._received.partition(b"\n")
        return line
