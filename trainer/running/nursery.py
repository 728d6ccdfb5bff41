"""What the zygote does: fork workers on request, look after them, bury them with all their family.

Orders are lines of JSON on a socket, with descriptors beside them; each is answered with a line.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import json
import os
import select
import signal
import socket
import struct
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import msgspec
import torch
from torch import Tensor

from trainer.running import denied, probe, sandbox
from trainer.running.attempts import is_out_of_memory
from trainer.running.execution import Drive
from trainer.running.isolation import ARCHIVE, FOLDER_BYTES, Folders, Isolation, children, descendants, nameless_bytes, used_bytes
from trainer.running.protocol import REPLY, Request, SubmittedFile, decode, message
from trainer.running.rehearsal import choose_kernels, have_memory_ready, rehearse
from trainer.running.worker import Worker, load_drive

BROKEN_WORKER = 86  # exit code of a worker whose own code failed, most likely because the submission changed it
OUT_OF_MEMORY = 87  # … whose own code found no memory left
_GRACE_SECONDS = 0.2
_LOOK_SECONDS = 0.05
MOST_THREADS = 256
_MOST_PROCESSES = 32  # where they can be started at all


@dataclass(frozen=True)
class Held:
    """A request that many files are to meet, read once for all of them."""

    request: Request
    tensors: Sequence[Tensor]
    drive: Drive


@dataclass
class Ward:
    """A worker under watch. `ended_for`: why it had to be ended, or ""."""

    folder: str
    ended_for: str = ""


def serve(control: socket.socket, room: str, hidden: tuple[Path, ...], isolation: Isolation) -> NoReturn:
    """The zygote's life: it ends with the grader."""
    _live(control, room, isolation, sandbox.readable_paths(hidden))


def serve_inside(descriptor: int) -> NoReturn:
    """The same inside bubblewrap, where nothing else can be read."""
    with contextlib.suppress(OSError):
        os.unlink(ARCHIVE)
    sandbox.shut_memory()
    torch.set_num_threads(1)
    gc.collect()
    gc.freeze()
    _live(socket.socket(fileno=descriptor), "/tmp", "bubblewrap", [])


def _live(control: socket.socket, room: str, isolation: Isolation, readable: Sequence[str]) -> NoReturn:
    code = 1
    nursery = None
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the grader's to handle; it then closes the socket
        sandbox.become_subreaper()
        _close_all_but(control.fileno(), 0, 1, 2)
        nursery = _Nursery(control, room, isolation, readable)
        nursery.obey_all()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        if nursery is not None:
            nursery.close()
        os._exit(code)


class _Nursery:
    def __init__(self, control: socket.socket, room: str, isolation: Isolation, readable: Sequence[str]) -> None:
        self._control, self._isolation, self._readable = control, isolation, readable
        self._folders = Folders(room, shared=isolation == "bubblewrap")
        self._wards: dict[int, Ward] = {}
        self._held: Held | None = None

    def obey_all(self) -> None:
        """Obey and answer until the grader closes the socket."""
        with contextlib.suppress(ConnectionError):  # a grader that is ended from outside leaves answers unread
            for order, descriptors in self._orders():
                try:
                    answer = self._obey(order, descriptors)
                except Exception as error:  # whatever one worker has left behind, the next one gets a zygote
                    answer = {"error": f"{type(error).__name__}: {error}"}
                self._control.sendall(line_of(answer))

    def _obey(self, order: dict[str, Any], descriptors: list[int]) -> dict[str, Any]:
        match order["do"]:
            case "run" | "probe":
                return {"pid": self._fork_worker(order, descriptors)}
            case "hold":
                self._hold(descriptors[0])
                return {}
        return self._bury(order["pid"], patiently=order["patiently"])

    def close(self) -> None:
        """End all workers."""
        for pid in list(self._wards):
            self._bury(pid, patiently=False)

    def _orders(self) -> Iterator[tuple[dict[str, Any], list[int]]]:
        """Orders as they come, each with its descriptors; one read may bring two of them. Meanwhile the workers are looked after."""
        waiting, descriptors = b"", list[int]()
        wanted = {"run": 2, "probe": 2, "hold": 1}
        while True:
            while not select.select([self._control], [], [], _LOOK_SECONDS if self._wards else None)[0]:
                self._look_after()
            part, sent, _, _ = socket.recv_fds(self._control, 4096, 2)
            if not part:
                return
            waiting += part
            descriptors += sent
            *whole, waiting = waiting.split(b"\n")
            for line in whole:
                order: dict[str, Any] = json.loads(line)
                mine = wanted.get(order["do"], 0)
                yield order, descriptors[:mine]
                del descriptors[:mine]

    def _look_after(self) -> None:
        """End a worker that takes more than its share of what no limit of the system's bounds."""
        for pid, ward in self._wards.items():
            if not ward.ended_for and (trouble := self._trouble(pid, ward)):
                ward.ended_for = trouble
                _kill_family(pid)
        if any(ward.ended_for for ward in self._wards.values()):
            # Who was started in that moment, or by one that is gone, holds the channel open: the grader would wait for it.
            for orphan in self._orphans():
                _kill(orphan, group=False)

    def _orphans(self) -> list[int]:
        """Processes that workers have left to us."""
        return [child for child in children(os.getpid()) if child not in self._wards]

    def _trouble(self, pid: int, ward: Ward) -> str:
        if not self._folders.bounded and used_bytes(ward.folder, FOLDER_BYTES) + nameless_bytes(pid) > FOLDER_BYTES:
            return f"it wrote more than the {FOLDER_BYTES >> 20} MiB that a submission may write"
        with contextlib.suppress(OSError):
            if (threads := len(os.listdir(f"/proc/{pid}/task"))) > MOST_THREADS:
                return f"it started {threads} threads; at most {MOST_THREADS} are allowed"
        # Orphans come to us, so every process below us that is no worker is some worker's.
        family = set(descendants(os.getpid())) - set(self._wards)
        if len(family) > _MOST_PROCESSES:
            return f"it started {len(family)} processes; a submission may start none"
        return ""

    def _hold(self, descriptor: int) -> None:
        """Read a request once for all workers to come, and rehearse it for all of them."""
        with socket.socket(fileno=descriptor) as channel:
            self._held = None
            request, tensors = decode(_receive_message(channel), Request)
        choose_kernels(request, tensors)
        rehearse()
        self._held = Held(request, tensors, load_drive(request))
        gc.collect()
        gc.freeze()

    def _fork_worker(self, order: dict[str, Any], descriptors: list[int]) -> int:
        channel, output = descriptors
        try:
            folder = self._folders.make()
        except BaseException:
            os.close(channel)
            os.close(output)
            raise
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            code = BROKEN_WORKER
            try:
                os.setsid()
                sandbox.die_with_parent()
                if os.getppid() != parent:
                    os._exit(1)
                self._control.close()
                _settle(output, folder)
                self._work(socket.socket(fileno=channel), folder, order)
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
        self._wards[pid] = Ward(folder)
        return pid

    def _work(self, channel: socket.socket, folder: str, order: dict[str, Any]) -> None:
        if order["do"] == "probe":
            self._confine(order, folder)
            channel.sendall(message(REPLY, probe.try_all(order["asked"], folder)))
            return
        held = self._held if order["held"] else None
        if held is None:
            request, tensors = decode(_receive_message(channel), Request)
            held = Held(request, tensors, load_drive(request))
            choose_kernels(request, tensors)
            if order["rehearsed"]:
                have_memory_ready()
                rehearse()
        self._confine(order, folder)
        denied.watch()
        faulthandler.enable(file=2, all_threads=False)
        file = msgspec.json.decode(_receive_message(channel), type=SubmittedFile)  # a session has this worker wait here for the next save
        faulthandler.dump_traceback_later(order["seconds"], file=2)  # the grader waits for the line before it ends the run
        channel.sendall(message(REPLY, Worker(held.request, held.tensors, file, channel, folder).work(held.drive)))

    def _confine(self, order: dict[str, Any], folder: str) -> None:
        sandbox.limit(order["memory_bytes"], order["seconds"])
        if self._isolation != "limits":
            sandbox.confine(self._readable, folder, with_landlock=self._isolation == "kernel")

    def _bury(self, pid: int, *, patiently: bool) -> dict[str, Any]:
        """Kill a worker, its process group and every orphan of its family, and remove its folder.

        Returns its wait status, whether it had to be killed, why the zygote has ended it, if it has, and how many of its family were left.
        """
        ward = self._wards.pop(pid, None)
        if ward is None:
            return {"status": 0, "killed": False, "ended_for": "", "family": 0}
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
        family = 0
        for _ in range(200):  # orphans may have children of their own, which come to us in turn
            if not (orphans := self._orphans()):
                break
            for orphan in orphans:
                family += 1
                _kill(orphan, group=False)
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(orphan, 0)
        self._folders.remove(ward.folder)
        return {"status": status, "killed": alive, "ended_for": ward.ended_for, "family": family}


def line_of(words: dict[str, Any]) -> bytes:
    """An order or an answer as it travels."""
    return json.dumps(words).encode() + b"\n"


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


def _kill_family(pid: int) -> None:
    """Stop all below a worker first, so that none starts another while the others are being killed."""
    for _ in range(5):
        family = [pid, *descendants(pid)]
        for sign in (signal.SIGSTOP, signal.SIGKILL):
            for one in family:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(one, sign)
        if len(family) == 1:
            break


def _kill(pid: int, *, group: bool) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        (os.killpg if group else os.kill)(pid, signal.SIGKILL)


def _close_all_but(*keep: int) -> None:
    last = 0
    for fd in sorted(keep):
        if last < fd:  # closerange(0, 0) would close everything
            os.closerange(last, fd)
        last = fd + 1
    os.closerange(last, 65_536)
