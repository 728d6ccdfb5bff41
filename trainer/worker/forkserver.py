"""The fork server's own code: fork workers on request, look after them, reap them with all their family.

Orders are lines of JSON on a socket, with descriptors beside them. The first order, "open", says where and how; every
other order is answered with a line.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import importlib
import json
import os
import resource
import select
import signal
import socket
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import msgspec
import torch
from torch import Tensor

from trainer.sandbox import break_out, confine, refusals
from trainer.sandbox.isolation import (
    ARCHIVE,
    FOLDER_BYTES,
    Folders,
    Isolation,
    children,
    descendants,
    nameless_bytes,
    used_bytes,
)
from trainer.worker import forbidden_ops
from trainer.worker.channel import Channel
from trainer.worker.counters import QUIET, count_in_threads, guard
from trainer.worker.execution import Drive
from trainer.worker.guarded_call import is_out_of_memory
from trainer.worker.protocol import REPLY, Request, SubmittedFile, decode
from trainer.worker.warmup import (
    choose_kernels,
    give_memory_back,
    have_memory_ready,
    keep_freed_memory,
    rehearse,
)
from trainer.worker.worker import Worker, load_drive

BROKEN_WORKER = (
    86  # exit code of a worker whose own code failed, most likely because the submission changed it
)
OUT_OF_MEMORY = 87  # … whose own code found no memory left
SLEEP_FACTOR = 4  # a worker may sleep for so many times its limit of CPU seconds
_LOOK_SECONDS = 0.05
_LONGEST_LOOK = 0.25  # what passes between two looks counts as sleep up to this: the machine itself may have stood still
# A worker gets this long to end, or to print its line when its time is over: CPU time, or asleep.
_LAST_SECONDS = 0.2
_MOST_LAST_SECONDS = 5.0  # on a machine that is too busy to let it run
MOST_THREADS = 256
_MOST_PROCESSES = 32  # where they can be started at all
_TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class PreloadedRequest:
    """A request that many files are to meet, read once for all of them."""

    request: Request
    tensors: Sequence[Tensor]
    drive: Drive


@dataclass
class WorkerRecord:
    """A worker under watch.

    seconds     its limit of CPU time
    ended_for   why it had to be ended, or ""
    out_of      which time it has used up: "cpu", "sleep" or ""
    used        CPU seconds that it had used when its time began; None before
    looked      when it was looked at last
    slept       for how long it has slept since its time began
    warned      when it was told to say where it is, because its time is over; it is killed soon after
    used_then   CPU seconds that it had used by then
    """

    folder: str
    seconds: float
    ended_for: str = ""
    out_of: str = ""
    used: float | None = None
    looked: float = 0.0
    slept: float = 0.0
    warned: float | None = None
    used_then: float = 0.0


def serve(control: socket.socket) -> NoReturn:
    """Be a fork server that was forked from the process it serves; end with that process."""
    _live(control)


def main() -> NoReturn:
    """Be a fork server in a fresh interpreter; the only argument is the descriptor of the control socket."""
    torch.set_num_threads(1)
    gc.collect()
    gc.freeze()
    _live(socket.socket(fileno=int(sys.argv[1])))


def serve_inside(descriptor: int) -> NoReturn:
    """Be a fork server inside bubblewrap, where nothing else can be read."""
    with contextlib.suppress(OSError):
        os.unlink(ARCHIVE)
    confine.shut_memory()
    torch.set_num_threads(1)
    gc.collect()
    gc.freeze()
    _live(socket.socket(fileno=descriptor))


def _live(control: socket.socket) -> NoReturn:
    code = 1
    server = None
    try:
        signal.signal(
            signal.SIGINT, signal.SIG_IGN
        )  # Ctrl-C is the grader's to handle; it then closes the socket
        _prepare()
        confine.become_subreaper()
        _close_all_but(control.fileno(), 0, 1, 2)
        server = _ForkServer(control)
        server.obey_all()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        if server is not None:
            server.close()
        os._exit(code)


def _prepare() -> None:
    """Do once what every worker needs; the grader loads its cases meanwhile."""
    if not forbidden_ops.is_prepared():
        gc.unfreeze()  # what was frozen before the fork is looked at too
        forbidden_ops.prepare()
    keep_freed_memory()
    count_in_threads()
    guard()
    gc.freeze()


class _ForkServer:
    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._isolation: Isolation = "limits"
        self._landlock: confine.Landlock | None = None
        self._folders: Folders | None = None
        self._records: dict[int, WorkerRecord] = {}
        self._preloaded: PreloadedRequest | None = None

    def obey_all(self) -> None:
        """Obey and answer until the grader closes the socket."""
        with contextlib.suppress(
            ConnectionError
        ):  # a grader that is ended from outside leaves answers unread
            for order, descriptors in self._orders():
                if order["do"] == "open":
                    self._open(order)
                    continue
                try:
                    answer = self._obey(order, descriptors)
                except (
                    Exception
                ) as error:  # whatever one worker has left behind, the next one gets a fork server
                    answer = {"error": f"{type(error).__name__}: {error}"}
                self._control.sendall(line_of(answer))

    def _open(self, order: dict[str, Any]) -> None:
        """Learn where workers live, how they are shut off, and which paths they may read."""
        self._isolation = order["isolation"]
        self._folders = Folders(order["room"], shared=self._isolation == "bubblewrap")
        if self._isolation == "kernel":  # the room is a mount of its own by now
            self._landlock = confine.Landlock.of(order["readable"], order["room"])

    @property
    def folders(self) -> Folders:
        """The workers' folders.

        Raises:
            RuntimeError: before the first order.
        """
        if self._folders is None:
            raise RuntimeError("the first order must be to open")
        return self._folders

    def _obey(self, order: dict[str, Any], descriptors: list[int]) -> dict[str, Any]:
        match order["do"]:
            case "run" | "probe":
                return {"pid": self._fork_worker(order, descriptors)}
            case "preload":
                self._preload(descriptors[0])
                return {}
            case "forget peak":
                forget_peak(order["pid"])
                return {}
            case "clock":
                self._start_clock(order["pid"])
                return {}
        return self._reap(order["pid"], patiently=order["patiently"])

    def _start_clock(self, pid: int) -> None:
        if (record := self._records.get(pid)) is not None:
            record.used, record.looked = _cpu_seconds(pid) or 0.0, time.monotonic()

    def close(self) -> None:
        """End all workers."""
        for pid in list(self._records):
            self._reap(pid, patiently=False)

    def _orders(self) -> Iterator[tuple[dict[str, Any], list[int]]]:
        """Orders as they come, each with its descriptors; one read may bring two of them. Meanwhile the workers are looked after."""
        waiting, descriptors = b"", list[int]()
        wanted = {"run": 3, "probe": 3, "preload": 1}
        while True:
            while not select.select(
                [self._control], [], [], _LOOK_SECONDS if self._records else None
            )[0]:
                self._look_after()
            part, sent, _, _ = socket.recv_fds(self._control, 1 << 16, 3)
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
        for pid, record in self._records.items():
            if record.ended_for:
                continue
            record.ended_for = self._trouble(pid, record) or _out_of_time(
                pid, record, time.monotonic()
            )
            if record.ended_for:
                _kill_family(pid)
        if any(record.ended_for for record in self._records.values()):
            # Who was started in that moment, or by one that is gone, holds the channel open: the grader would wait for it.
            for orphan in self._orphans():
                _kill(orphan, group=False)

    def _orphans(self) -> list[int]:
        """Processes that workers have left to us."""
        return [child for child in children(os.getpid()) if child not in self._records]

    def _trouble(self, pid: int, record: WorkerRecord) -> str:
        if (
            not self.folders.bounded
            and used_bytes(record.folder, FOLDER_BYTES) + nameless_bytes(pid) > FOLDER_BYTES
        ):
            return f"it wrote more than the {FOLDER_BYTES >> 20} MiB that a submission may write"
        with contextlib.suppress(OSError):
            if (threads := len(os.listdir(f"/proc/{pid}/task"))) > MOST_THREADS:
                return f"it started {threads} threads; at most {MOST_THREADS} are allowed"
        # Orphans come to us, so every process below us that is no worker is some worker's.
        family = set(descendants(os.getpid())) - set(self._records)
        if len(family) > _MOST_PROCESSES:
            return f"it started {len(family)} processes; a submission may start none"
        return ""

    def _preload(self, descriptor: int) -> None:
        """Read a request once for all workers to come, and rehearse it for all of them."""
        self._preloaded = None
        try:
            request, tensors = decode(Channel(descriptor, -1).receive(), Request)
        finally:
            os.close(descriptor)
        choose_kernels(request, tensors)
        rehearse()
        self._preloaded = PreloadedRequest(request, tensors, load_drive(request))
        gc.collect()
        gc.freeze()

    def _fork_worker(self, order: dict[str, Any], descriptors: list[int]) -> int:
        requests, replies, output = descriptors
        try:
            folder = self.folders.make()
        except BaseException:
            for descriptor in descriptors:
                os.close(descriptor)
            raise
        parent = os.getpid()
        pid = os.fork()
        if pid == 0:
            code = BROKEN_WORKER
            try:
                os.setsid()
                confine.die_with_parent()
                if os.getppid() != parent:
                    os._exit(1)
                self._control.close()
                _settle(output, folder)
                self._work(Channel(requests, replies), folder, order)
                code = 0
            except BaseException as error:
                if is_out_of_memory(
                    error
                ):  # the submission has taken all there was, and our own code got none
                    code = OUT_OF_MEMORY
                else:
                    traceback.print_exc()
            finally:
                try:
                    sys.stdout.flush()
                finally:
                    os._exit(code)
        for descriptor in descriptors:
            os.close(descriptor)
        self._records[pid] = WorkerRecord(folder, order["seconds"])
        return pid

    def _work(self, channel: Channel, folder: str, order: dict[str, Any]) -> None:
        if order["do"] == "probe":
            self._confine(order, folder)
            channel.send(REPLY, break_out.try_all(order["asked"], folder))
            return
        held = self._preloaded if order["held"] else None
        if held is None:
            request, tensors = decode(channel.receive(), Request)
            held = PreloadedRequest(request, tensors, load_drive(request))
            choose_kernels(request, tensors)
            if order["rehearsed"]:
                have_memory_ready()
                rehearse()
        if order["measured"]:
            give_memory_back()
        self._confine(order, folder)
        refusals.watch()
        faulthandler.enable(file=2, all_threads=False)
        # When its time is over, the kernel or the fork server sends this, and the line is printed.
        faulthandler.register(signal.SIGXCPU, file=2, all_threads=False)
        body = channel.receive()  # a session has this worker wait here for the next save
        file = msgspec.json.decode(body, type=SubmittedFile)
        channel.send(
            REPLY, Worker(held.request, held.tensors, file, channel, folder).work(held.drive)
        )

    def _confine(self, order: dict[str, Any], folder: str) -> None:
        confine.limit(order["memory_bytes"], order["seconds"])
        if self._isolation != "limits":
            confine.confine(self._landlock, folder)

    def _reap(self, pid: int, *, patiently: bool) -> dict[str, Any]:
        """Kill a worker, its process group and every orphan of its family, and remove its folder.

        Returns the fields of `fork server.End`.
        """
        record = self._records.pop(pid, None)
        if record is None:
            return {"status": 0, "killed": False}
        ended: tuple[int, resource.struct_rusage] | None = None
        began, used_then = time.monotonic(), _cpu_seconds(pid) or 0.0
        while patiently and ended is None:
            done, status, usage = os.wait4(pid, os.WNOHANG)
            if done:
                ended = status, usage
            elif _has_had_time(pid, time.monotonic() - began, used_then):
                break
            else:
                time.sleep(0.002)
        _kill(pid, group=True)
        alive = ended is None
        if ended is None:
            _kill(pid, group=False)
            ended = os.wait4(pid, 0)[1:]
        status, usage = ended
        family = 0
        for _ in range(200):  # orphans may have children of their own, which come to us in turn
            if not (orphans := self._orphans()):
                break
            for orphan in orphans:
                family += 1
                _kill(orphan, group=False)
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(orphan, 0)
        self.folders.remove(record.folder)
        return {
            "status": status,
            "killed": alive,
            "ended_for": record.ended_for,
            "out_of": record.out_of or _time_is_up(record, usage, status),
            "family": family,
            "cpu": usage.ru_utime + usage.ru_stime,
            "most_bytes": usage.ru_maxrss * (1 if sys.platform == "darwin" else 1024),
        }


def _time_is_up(record: WorkerRecord, usage: resource.struct_rusage, status: int) -> str:
    """Return "cpu" where the kernel has killed a worker for its CPU time before the fork server looked at it."""
    used = usage.ru_utime + usage.ru_stime - (record.used or 0.0)
    return (
        "cpu"
        if os.WIFSIGNALED(status) and record.used is not None and used >= record.seconds
        else ""
    )


def _out_of_time(pid: int, record: WorkerRecord, now: float) -> str:
    """Return why a worker has to be ended because its time is over, "" where it has time left.

    It is told first, so that it prints the line where it is.
    """
    if record.used is None:
        return ""
    if record.warned is not None:
        has_said_where = _has_had_time(pid, now - record.warned, record.used_then)
        return f"its time ({record.out_of}) is over" if has_said_where else ""
    passed, record.looked = min(now - record.looked, _LONGEST_LOOK), now
    used = _cpu_seconds(pid)
    if used is None or _is_asleep(
        pid
    ):  # where nothing tells, all the time that passes counts as sleep
        record.slept += passed
    if used is not None and used - record.used >= record.seconds:
        record.out_of = "cpu"
    elif record.slept >= SLEEP_FACTOR * record.seconds:
        record.out_of = "sleep"
    if record.out_of:
        record.warned, record.used_then = now, used or 0.0
        for sign in (signal.SIGXCPU, signal.SIGCONT):  # it may have stopped itself
            with contextlib.suppress(ProcessLookupError, PermissionError):
                os.kill(pid, sign)
    return ""


def _has_had_time(pid: int, passed: float, used_then: float) -> bool:
    """Return whether a worker has had the time to do a last thing: to print its line, or to end.

    Other load on the machine can keep a worker from running for longer than it needs, so its own
    time counts. A worker that sleeps has nothing left to do: a signal would have woken it.

    Args:
        passed: seconds since then.
        used_then: the CPU time that it had used then, in seconds.
    """
    if passed < _LAST_SECONDS:
        return False
    used = _cpu_seconds(pid)
    if used is None or passed >= _MOST_LAST_SECONDS:
        return True
    return used - used_then >= _LAST_SECONDS or _is_asleep(pid)


def _cpu_seconds(pid: int) -> float | None:
    """Return the CPU time of all threads of a process; None where /proc does not tell."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            fields = file.read().rpartition(b")")[2].split()
        return (int(fields[11]) + int(fields[12])) / _TICKS
    except (OSError, ValueError, IndexError):
        return None


def _is_asleep(pid: int) -> bool:
    """Return whether all threads of a process wait for something that is not the machine: neither a core nor a disk."""
    try:
        for thread in os.listdir(f"/proc/{pid}/task"):
            with open(f"/proc/{pid}/task/{thread}/stat", "rb") as file:
                if file.read().rpartition(b")")[2].split()[0] in (b"R", b"D"):
                    return False
    except (OSError, IndexError):
        return False
    return True


def forget_peak(pid: int) -> None:
    """Have the kernel count from now on how much memory a process holds at most, where it can (Linux)."""
    with (
        contextlib.suppress(OSError),
        open(f"/proc/{pid}/clear_refs", "w", encoding="ascii") as file,
    ):
        file.write("5")


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
    sys.stdout = open(
        1, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False
    )
    sys.stderr = open(
        2, "w", encoding="utf-8", errors="backslashreplace", buffering=1, closefd=False
    )
    os.chdir(folder)
    os.environ.clear()
    # torch.compile would start a compiler; with this it leaves functions as they are.
    os.environ.update(
        HOME=folder,
        TMPDIR=folder,
        PATH=os.defpath,
        LANG="C.UTF-8",
        OMP_NUM_THREADS="1",
        TORCHDYNAMO_DISABLE="1",
        **QUIET,
    )
    tempfile.tempdir = folder
    # The fork has lost torch's thread pool: two threads of a submission's that first ask for it at once would find none.
    torch.set_num_threads(1)
    sys.argv = [""]
    warnings.resetwarnings()  # the grader's own filters (a test run's, say) are not the learner's
    sys.path[:] = [
        path
        for path in sys.path
        if path.endswith(("site-packages", "dist-packages", ".zip", "lib-dynload"))
        or "lib/python" in path
    ]
    signal.signal(signal.SIGINT, signal.default_int_handler)


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


if __name__ == "__main__":
    # As a module of its own name, not as `__main__`: others import it too.
    importlib.import_module("trainer.worker.forkserver").main()
