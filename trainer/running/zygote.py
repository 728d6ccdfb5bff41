"""The zygote: a process with torch imported and nothing else, which forks one worker for every run.

It must be started before any reference is loaded: what is not in its memory, no worker can find in its own. Grader and
zygote speak over a socketpair, so there is no address that a submission could connect to.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import json
import os
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import msgspec
import torch

from trainer.core.words import GraderError
from trainer.running import sandbox
from trainer.running.attempts import is_out_of_memory
from trainer.running.protocol import REPLY, Request, SubmittedFile, decode, message
from trainer.running.rehearsal import rehearse
from trainer.running.worker import Worker, load_drive

BROKEN_WORKER = 86  # exit code of a worker whose own code failed, most likely because the submission changed it
OUT_OF_MEMORY = 87  # … whose own code found no memory left
_GRACE_SECONDS = 0.2


@dataclass(frozen=True)
class Limits:
    """Bounds on one run of a worker: wall-clock seconds for all of it, and bytes of memory beyond torch's own."""

    seconds: float = 10.0
    memory_bytes: int = 2048 << 20


class Zygote:
    """The grader's handle. Start it before anything of `solutions/` is read; close it when done."""

    def __init__(self, hidden: Iterable[Path]) -> None:
        mine, its = socket.socketpair()
        sys.stdout.flush()
        sys.stderr.flush()
        # torch's 200,000 objects stay for good: out of the collector's sight, which would take 60 ms to walk over them.
        gc.freeze()
        self._pid = os.fork()
        if self._pid == 0:
            mine.close()
            _serve(its, tuple(hidden))
        its.close()
        self._control = mine
        self._answers = mine.makefile("rb")
        self._dismissed = 0  # orders whose answers nobody has read yet

    def start_worker(self, limits: Limits) -> tuple[int, socket.socket, int]:
        """Fork a worker; returns its pid, the channel to it, and a descriptor to read what it prints."""
        channel, its_channel = socket.socketpair()
        output, its_output = os.pipe()
        order = _line({"do": "run", "seconds": limits.seconds, "memory_bytes": limits.memory_bytes})
        try:
            socket.send_fds(self._control, [order], [its_channel.fileno(), its_output])
            pid = self._answer()["pid"]
        finally:
            its_channel.close()
            os.close(its_output)
        return pid, channel, output

    def end_worker(self, pid: int, *, patiently: bool) -> tuple[int, bool]:
        """Kill a worker and all its family. `patiently`: it seems to be ending alone.

        Returns the wait status of the worker itself, and whether it had to be killed.
        """
        self._send({"do": "end", "pid": pid, "patiently": patiently})
        answer = self._answer()
        return int(answer["status"]), bool(answer["killed"])

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
        """End the zygote; it ends its workers first."""
        with contextlib.suppress(GraderError):  # answers left unread would reset the connection
            self.settle()
        self._answers.close()
        self._control.close()
        with contextlib.suppress(ChildProcessError):
            os.waitpid(self._pid, 0)

    def _send(self, order: dict[str, Any]) -> None:
        try:
            self._control.sendall(_line(order))
        except OSError as error:
            raise GraderError(f"The process that starts workers is gone ({error}). Run the check again.") from None

    def _answer(self) -> dict[str, Any]:
        self.settle()
        told: dict[str, Any] = json.loads(self._line_of_answer())
        if "error" in told:
            raise GraderError(f"No worker could be started: {told['error']}.")
        return told

    def _line_of_answer(self) -> bytes:
        line = self._answers.readline()
        if not line:
            raise GraderError("The process that starts workers died. Run the check again; `attn-drill doctor` shows what this machine can do.")
        return line


def _line(words: dict[str, Any]) -> bytes:
    return json.dumps(words).encode() + b"\n"


def _serve(control: socket.socket, hidden: tuple[Path, ...]) -> NoReturn:
    """The zygote's life: fork on request, bury on request, and end with the grader."""
    code = 1
    workers: dict[int, str] = {}
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the grader's to handle; it then closes the socket
        sandbox.become_subreaper()
        readable = sandbox.readable_paths(hidden)
        _close_all_but(control.fileno(), 0, 1, 2)
        for order, descriptors in _orders(control):
            try:
                if order["do"] == "run":
                    answer: dict[str, Any] = {"pid": _fork_worker(control, order, descriptors, readable, workers)}
                else:
                    status, killed = _bury(order["pid"], workers, patiently=order["patiently"])
                    answer = {"status": status, "killed": killed}
            except Exception as error:  # whatever one worker has left behind, the next one gets a zygote
                answer = {"error": str(error)}
            control.sendall(_line(answer))
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        for pid in list(workers):
            _bury(pid, workers, patiently=False)
        os._exit(code)


def _orders(control: socket.socket) -> Iterator[tuple[dict[str, Any], list[int]]]:
    """Orders as they come, each with its descriptors; one read may bring two of them."""
    waiting, descriptors = b"", []
    while True:
        part, sent, _, _ = socket.recv_fds(control, 4096, 2)
        if not part:
            return
        waiting += part
        descriptors += sent
        *whole, waiting = waiting.split(b"\n")
        for line in whole:
            order: dict[str, Any] = json.loads(line)
            mine = 2 if order["do"] == "run" else 0
            yield order, descriptors[:mine]
            del descriptors[:mine]


def _fork_worker(control: socket.socket, order: dict[str, Any], descriptors: list[int], readable: list[str], workers: dict[int, str]) -> int:
    channel, output = descriptors
    folder = tempfile.mkdtemp(prefix="attn-drill-")
    parent = os.getpid()
    pid = os.fork()
    if pid == 0:
        code = BROKEN_WORKER
        try:
            os.setsid()
            sandbox.die_with_parent()
            if os.getppid() != parent:
                os._exit(1)
            control.close()
            _settle(output, folder)
            _work(socket.socket(fileno=channel), folder, order, readable)
            code = 0
        except BaseException as error:
            if is_out_of_memory(error):  # the submission has taken all there was, and our own code got none
                code = OUT_OF_MEMORY
            else:
                traceback.print_exc()
        finally:
            try:
                sys.stdout.flush()
            finally:
                os._exit(code)
    os.close(channel)
    os.close(output)
    workers[pid] = folder
    return pid


def _settle(output: int, folder: str) -> None:
    """Print into the pipe, read nothing, live in the temp folder, know nothing of the user's environment."""
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(nowhere)
    os.close(output)
    sys.stdin = open(0, encoding="utf-8", closefd=False)
    sys.stdout = open(1, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)
    sys.stderr = open(2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False)
    os.chdir(folder)
    os.environ.clear()
    # torch.compile would start a compiler; with this it leaves functions as they are.
    os.environ.update(HOME=folder, TMPDIR=folder, PATH=os.defpath, LANG="C.UTF-8", OMP_NUM_THREADS="1", TORCHDYNAMO_DISABLE="1")
    tempfile.tempdir = folder
    # The fork has lost torch's thread pool: two threads of a submission's that first ask for it at once would find none.
    torch.set_num_threads(1)
    sys.argv = [""]
    warnings.resetwarnings()  # the grader's own filters (a test run's, say) are not the learner's
    sys.path[:] = [path for path in sys.path if path.endswith(("site-packages", "dist-packages", ".zip", "lib-dynload")) or "lib/python" in path]
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _work(channel: socket.socket, folder: str, order: dict[str, Any], readable: list[str]) -> None:
    request, tensors = decode(_receive_message(channel), Request)
    drive = load_drive(request)
    rehearse(request, tensors)
    sandbox.limit(order["memory_bytes"], order["seconds"])
    sandbox.confine(readable, folder)
    faulthandler.enable(file=2, all_threads=False)
    file = msgspec.json.decode(_receive_message(channel), type=SubmittedFile)  # a session has this worker wait here for the next save
    # In time for the line of an endless loop to be seen before the grader ends the run.
    faulthandler.dump_traceback_later(max(order["seconds"] * 0.9, order["seconds"] - 0.5), file=2)
    channel.sendall(message(REPLY, Worker(request, tensors, file, channel, folder).work(drive)))


def _receive_message(channel: socket.socket) -> bytes:
    kind_and_length = _receive(channel, 9)
    return _receive(channel, struct.unpack("<Q", kind_and_length[1:])[0])


def _receive(channel: socket.socket, count: int) -> bytes:
    received = bytearray()
    while len(received) < count:
        part = channel.recv(min(count - len(received), 1 << 20))
        if not part:
            raise ConnectionError("the grader closed the channel")
        received += part
    return bytes(received)


def _bury(pid: int, workers: dict[int, str], *, patiently: bool) -> tuple[int, bool]:
    """Kill a worker, its process group and every orphan of its family, and remove its folder; wait status, and whether it was alive."""
    folder = workers.pop(pid, None)
    if folder is None:
        return 0, False
    status: int | None = None
    deadline = time.monotonic() + (_GRACE_SECONDS if patiently else 0)
    while patiently and status is None and time.monotonic() < deadline:
        done, found = os.waitpid(pid, os.WNOHANG)
        if done:
            status = found
        else:
            time.sleep(0.002)
    _kill(pid, group=True)
    alive = status is None
    if status is None:
        _kill(pid, group=False)
        status = os.waitpid(pid, 0)[1]
    for _ in range(20):  # orphans may have children of their own, which come to us in turn
        orphans = [child for child in _children() if child not in workers]
        if not orphans:
            break
        for orphan in orphans:
            _kill(orphan, group=False)
            with contextlib.suppress(ChildProcessError):
                os.waitpid(orphan, 0)
    _remove(folder)
    return status, alive


def _remove(folder: str) -> None:
    """Remove a folder, also one that is nested too deep for Python's recursion or whose parts are unreadable."""
    with contextlib.suppress(RecursionError, OSError):
        shutil.rmtree(folder)
    if os.path.exists(folder):
        for command in (["chmod", "-R", "u+rwX", folder], ["rm", "-rf", folder]):
            with contextlib.suppress(OSError, subprocess.TimeoutExpired):
                subprocess.run(command, check=False, timeout=30, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _kill(pid: int, *, group: bool) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        (os.killpg if group else os.kill)(pid, signal.SIGKILL)


def _children() -> list[int]:
    try:
        with open(f"/proc/self/task/{os.getpid()}/children", encoding="ascii") as file:
            return [int(pid) for pid in file.read().split()]
    except (OSError, ValueError):
        return []


def _close_all_but(*keep: int) -> None:
    last = 0
    for fd in sorted(keep):
        if last < fd:  # closerange(0, 0) would close everything
            os.closerange(last, fd)
        last = fd + 1
    os.closerange(last, 65_536)
