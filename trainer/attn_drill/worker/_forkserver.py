"""The fork server: fork workers on request, watch them, reap them with all their descendants.

Orders are lines of JSON on a socket; an order can carry descriptors. The first order, "open", names
the workers' room, the isolation and the readable paths. Every later order is answered with a line
of JSON.

A worker prepares itself before its file arrives: it runs a small grading of a built-in module. A
forked process shares each memory page with its parent until it writes to the page. Python writes to
every object that it uses, because of reference counts. So the first pass through torch's code
copies many pages, which takes a fifth of the time of a whole grading. The results of this rehearsal
are thrown away.
"""

from __future__ import annotations

import contextlib
import faulthandler
import gc
import importlib.metadata
import importlib.util
import json
import os
import select
import signal
import socket
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import msgspec
import torch
from torch import Tensor, nn

from attn_drill.sandbox import break_out as break_out  # for the self-test
from attn_drill.sandbox import confine
from attn_drill.sandbox.environment import QUIET
from attn_drill.sandbox.isolation import (
    ARCHIVE,
    FOLDER_BYTES,
    Isolation,
    children,
    descendants,
    remove_tree,
    unlinked_bytes,
    used_bytes,
)
from attn_drill.worker._worker import Worker, load_drive
from attn_drill.worker.case_runner import CaseRunner, Hooks, KeptTensors
from attn_drill.worker.execution import Drive, GuardedCall, is_out_of_memory, leaves
from attn_drill.worker.library_calls import LibraryCalls, hide_packages
from attn_drill.worker.protocol import (
    REPLY,
    Call,
    Channel,
    Request,
    Run,
    SubmittedFile,
    decode,
    fill_all,
)

_WIDTH = 4
_SMALL = 1 << 16  # entries of all input tensors of a case together

# Exit codes of a worker. 86: attn-drill's own code failed, most likely because the submission
# changed it. 87: it found no free memory, because the submission has taken all. 88: the kernel did
# not confine the worker, which has run no submission.
BROKEN_WORKER, OUT_OF_MEMORY, NOT_CONFINED = 86, 87, 88
_LOOK_SECONDS = 0.05
_LOOKS_AT_MAPS = 10  # one in ten, because torch maps a thousand files
_ENDING_SECONDS = 2.0  # for a worker that has closed its pipes
MOST_THREADS = 256
_MOST_PROCESSES = 32  # if the isolation allows any


class _Rehearsed(nn.Module):
    """Attention with two heads, made of the layers and operations that most answers use."""

    def __init__(self) -> None:
        super().__init__()
        self.q_proj, self.k_proj, self.v_proj, self.o_proj = (
            nn.Linear(_WIDTH, _WIDTH) for _ in range(4)
        )
        self.dropout = nn.Dropout(0.5)

    def forward(self, x: Tensor) -> Tensor:
        q, k, v = (
            layer(x).view(1, -1, 2, 2).transpose(1, 2)
            for layer in (self.q_proj, self.k_proj, self.v_proj)
        )
        scores = (q @ k.transpose(-2, -1) / 2).masked_fill(
            torch.zeros(1, dtype=torch.bool), float("-inf")
        )
        heads = self.dropout(torch.softmax(scores, dim=-1)) @ v
        merged: Tensor = self.o_proj(heads.transpose(1, 2).reshape(x.shape))
        return merged


def rehearse() -> None:
    """Run a small case in every dtype. Leave the state of torch's random generator unchanged."""
    state = torch.get_rng_state()
    shapes = {
        f"{layer}.{part}": shape
        for layer in ("q_proj", "k_proj", "v_proj", "o_proj")
        for part, shape in (("weight", 2), ("bias", 1))
    }
    tensors: list[Tensor] = []
    runs = [
        _run(dtype, mode, shapes, tensors)
        for dtype, mode in (("float32", "eval"), ("float64", "train"), ("bfloat16", "eval"))
    ]
    request = Request("", "module", ["Rehearsed"], 0, [*runs, runs[0]], [])
    rules = LibraryCalls((), lambda words, is_by_challenge: None)
    runner = CaseRunner(request, tensors, GuardedCall(""), KeptTensors(), Hooks(), rules)
    runner.run_all(
        {"Rehearsed": _Rehearsed}, lambda implementation, inputs: {"out": implementation(inputs.x)}
    )
    torch.set_rng_state(state)


def choose_kernels(request: Request, tensors: Sequence[Tensor]) -> None:
    """Switch oneDNN off in this process if all bfloat16 cases of a request are small, else on.

    oneDNN compiles a kernel for each size of a bfloat16 matrix product. For small products, this
    takes longer than the kernels save. Large products are many times faster with oneDNN.
    """
    sizes: list[int] = []
    for run in request.runs:
        if run.dtype == "bfloat16":
            inputs = leaves(fill_all(run.inputs, tensors))
            parameters = [tensors[tensor_id] for tensor_id in run.parameters.values()]
            into_run = [*(tensor for _, tensor in inputs), *parameters]
            sizes.append(sum(tensor.numel() for tensor in into_run))
    torch.backends.mkldnn.set_flags(not sizes or max(sizes) > _SMALL)  # type: ignore[no-untyped-call]  # torch gives no types


def _run(dtype: str, mode: str, shapes: Mapping[str, int], tensors: list[Tensor]) -> Run:
    """Return one case of three tokens, with gradients. Append its tensors to `tensors`."""
    torch_dtype: torch.dtype = getattr(torch, dtype)
    first_id = len(tensors)
    tensors += [
        torch.ones(1, 3, _WIDTH, dtype=torch_dtype),
        *(torch.ones((_WIDTH,) * dim_count, dtype=torch_dtype) for dim_count in shapes.values()),
    ]
    parameters = {name: first_id + 1 + index for index, name in enumerate(shapes)}
    x = {"x": {"tensor": first_id}}
    calls = [Call(gradients=True), Call("second", is_in_same_memory=True)]
    return Run({}, {}, x, x, parameters, {"out": first_id}, dtype, mode, {}, ["x"], calls)


@dataclass
class WorkerRecord:
    """The fork server's record of a worker."""

    folder: str
    ended_for: str = ""  # a reason, or ""
    looks: int = 0


def serve_inside(descriptor: int) -> NoReturn:
    """Serve inside bubblewrap on the socket with this descriptor, then exit."""
    with contextlib.suppress(OSError):
        os.unlink(ARCHIVE)
    confine.shut_memory()
    serve_alone(descriptor)


def serve_alone(descriptor: int) -> NoReturn:
    """Serve in a process that has done nothing else, then exit."""
    torch.set_num_threads(1)
    gc.collect()
    gc.freeze()
    serve(socket.socket(fileno=descriptor))


def serve(control: socket.socket) -> NoReturn:
    """Serve on the fork server's end of the control socket, then exit."""
    code = 1
    server = _ForkServer(control)
    try:
        # The grader handles Ctrl-C; it then closes the socket.
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        hide_packages()
        confine.become_subreaper()
        os.closerange(3, control.fileno())
        os.closerange(max(3, control.fileno() + 1), 65_536)
        server.carry_out_orders()
        code = 0
    except BaseException:
        traceback.print_exc()
    finally:
        server.close()
        os._exit(code)


class _ForkServer:
    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._isolation: Isolation = "limits"
        self._landlock: confine.Landlock | None = None
        self._room = ""  # the parent of the workers' folders
        self._records: dict[int, WorkerRecord] = {}
        # A request for many submissions, read once for all of them.
        self._preloaded: tuple[Request, list[Tensor], Drive] | None = None

    def carry_out_orders(self) -> None:
        """Carry out and answer orders until the grader closes the socket."""
        # A grader that is killed leaves answers unread, which resets the connection.
        with contextlib.suppress(ConnectionError):
            for order, descriptors in self._orders():
                if order["do"] == "open":
                    self._open(order)
                    continue
                try:
                    answer = self._carry_out(order, descriptors)
                # An error with one worker must not end the fork server: the next worker needs it.
                except Exception as error:
                    answer = {"error": f"{type(error).__name__}: {error}"}
                self._control.sendall(line_of(answer))

    def _open(self, order: dict[str, Any]) -> None:
        """Store the isolation, and prepare the workers' room and the rules on readable paths."""
        self._isolation, self._room = order["isolation"], order["room"]
        if self._isolation == "kernel":
            self._landlock = confine.Landlock.of(order["readable"], self._room)
            # Let Python list all import folders now, because a worker may not list some of them.
            # Python's finders keep a listing as long as the folder does not change.
            importlib.util.find_spec("attn_drill_looks_for_no_module")
            list(importlib.metadata.distributions(name="attn-drill-looks-for-no-package"))

    def _carry_out(self, order: dict[str, Any], descriptors: list[int]) -> dict[str, Any]:
        match order["do"]:
            case "run":
                return {"pid": self._fork_worker(order, descriptors)}
            case "preload":
                self._preload(descriptors[0])
                return {}
            case "interrupt":
                return {"asleep": _interrupt(order["pid"])}
        return self._reap(order["pid"], patiently=order["patiently"])

    def close(self) -> None:
        """End all workers."""
        for pid in list(self._records):
            self._reap(pid, patiently=False)

    def _orders(self) -> Iterator[tuple[dict[str, Any], list[int]]]:
        """Yield each order with its descriptors; watch the workers while no order comes.

        One read may return two orders, with the descriptors of both.
        """
        rest, descriptors = b"", list[int]()
        descriptor_counts = {"run": 4, "preload": 1}
        while True:
            timeout = _LOOK_SECONDS if self._records else None
            if not select.select([self._control], [], [], timeout)[0]:
                self._watch_workers()
                continue
            part, part_descriptors, _, _ = socket.recv_fds(self._control, 1 << 16, 4)
            if not part:
                return
            rest += part
            descriptors += part_descriptors
            *lines, rest = rest.split(b"\n")
            for line in lines:
                order: dict[str, Any] = json.loads(line)
                count = descriptor_counts.get(order["do"], 0)
                yield order, descriptors[:count]
                del descriptors[:count]

    def _watch_workers(self) -> None:
        """End each worker that takes too much of a resource for which the system has no limit."""
        for pid, record in self._records.items():
            if record.ended_for:
                continue
            record.ended_for = self._excess(pid, record)
            if record.ended_for:
                _kill_family(pid)
        orphans = self._orphans()
        if len(orphans) > _MOST_PROCESSES or any(
            record.ended_for for record in self._records.values()
        ):
            # A process that the worker started in this moment, or that one of its dead children
            # started, keeps the channel open. The grader would wait for this process.
            for orphan in orphans:
                _kill(orphan, group=False)

    def _orphans(self) -> list[int]:
        """Return the children of the fork server that are orphans of workers."""
        return [child for child in children(os.getpid()) if child not in self._records]

    def _excess(self, pid: int, record: WorkerRecord) -> str:
        record.looks += 1
        written = used_bytes(record.folder, FOLDER_BYTES)
        written += unlinked_bytes(pid, record.folder, mapped=record.looks % _LOOKS_AT_MAPS == 0)
        if written > FOLDER_BYTES:
            return f"it wrote more than the {FOLDER_BYTES >> 20} MiB that a submission may write"
        with contextlib.suppress(OSError):
            if (threads := len(os.listdir(f"/proc/{pid}/task"))) > MOST_THREADS:
                return f"it started {threads} threads; at most {MOST_THREADS} are allowed"
        # The fork server adopts orphans. An orphan is still in the session of its worker, unless it
        # has left the session; then nobody knows whose it was, and it ends with the next worker.
        family = set(descendants(pid))
        for orphan in self._orphans():
            with contextlib.suppress(OSError):  # it may be gone
                if os.getsid(orphan) == pid:
                    family.add(orphan)
        if len(family) > _MOST_PROCESSES:
            return f"it started {len(family)} processes; a submission may start none"
        return ""

    def _preload(self, descriptor: int) -> None:
        """Read a request once for all later workers, and rehearse once for all of them."""
        self._preloaded = None
        try:
            request, tensors = decode(Channel(descriptor, -1).receive(), Request)
        finally:
            os.close(descriptor)
        choose_kernels(request, tensors)
        rehearse()
        self._preloaded = request, tensors, load_drive(request)
        gc.collect()
        gc.freeze()

    def _fork_worker(self, order: dict[str, Any], descriptors: list[int]) -> int:
        requests, replies, output, faults = descriptors
        try:
            folder = tempfile.mkdtemp(dir=self._room)
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
                _set_up_worker(output, folder)
                self._work(Channel(requests, replies), faults, folder, order)
                code = 0
            except BaseException as error:
                if isinstance(error, confine.ConfinementError):
                    code = NOT_CONFINED
                    print(error, file=sys.stderr)
                elif is_out_of_memory(error):
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
        self._records[pid] = WorkerRecord(folder)
        return pid

    def _work(self, channel: Channel, faults: int, folder: str, order: dict[str, Any]) -> None:
        preloaded = self._preloaded if order["preloaded"] else None
        if preloaded is None:
            request, tensors = decode(channel.receive(), Request)
            preloaded = request, tensors, load_drive(request)
            choose_kernels(request, tensors)
            if order["rehearsed"]:
                rehearse()
        confine.limit(order["memory_bytes"], order["seconds"])
        if self._isolation != "limits":
            confine.confine(self._landlock, folder)
        faulthandler.enable(file=faults, all_threads=False)
        # The kernel or the fork server sends this signal when the worker's time is over. Then
        # faulthandler prints the line, and the signal ends the worker.
        faulthandler.register(signal.SIGXCPU, file=faults, all_threads=False, chain=True)
        body = channel.receive()  # in a session, for the next save
        file = msgspec.json.decode(body, type=SubmittedFile)
        request, tensors, drive = preloaded
        channel.send(REPLY, Worker(request, tensors, file, channel, folder).work(drive))

    def _reap(self, pid: int, *, patiently: bool) -> dict[str, Any]:
        """Kill a worker, its process group and all its orphans, and remove its folder.

        Args:
            patiently: wait a little before the kill, because the worker seems to be ending.
        """
        record = self._records.pop(pid)
        deadline = time.monotonic() + _ENDING_SECONDS
        ended, status, usage = os.wait4(pid, os.WNOHANG)
        while patiently and not ended and time.monotonic() < deadline:
            time.sleep(0.002)
            ended, status, usage = os.wait4(pid, os.WNOHANG)
        _kill(pid, group=True)
        if not ended:
            _kill(pid, group=False)
            _, status, usage = os.wait4(pid, 0)
        for _ in range(200):  # the children of orphans become orphans
            if not (orphans := self._orphans()):
                break
            for orphan in orphans:
                _kill(orphan, group=False)
                with contextlib.suppress(ChildProcessError):
                    os.waitpid(orphan, 0)
        # Without Landlock, a worker can leave something next to its folder.
        kept = {other.folder for other in self._records.values()}
        for name in os.listdir(self._room):
            if (path := os.path.join(self._room, name)) not in kept:
                remove_tree(path)
        return {
            "code": os.waitstatus_to_exitcode(status),
            "killed": not ended,
            "ended_for": record.ended_for,
            "cpu": usage.ru_utime + usage.ru_stime,
        }


def _interrupt(pid: int) -> bool:
    """Tell a worker that sleeps that its time is over; return whether it sleeps.

    It does not sleep if one of its threads runs or waits for a core. Without /proc it is not known,
    and counts as sleep.
    """
    with contextlib.suppress(OSError, IndexError):
        threads = os.listdir(f"/proc/{pid}/task") if os.path.exists("/proc/self") else []
        for thread in threads:
            with open(f"/proc/{pid}/task/{thread}/stat", "rb") as file:
                if file.read().rpartition(b")")[2].split()[0] == b"R":
                    return False
        os.kill(pid, signal.SIGXCPU)
        os.kill(pid, signal.SIGCONT)  # it may have been stopped
        return True
    return False


def line_of(words: dict[str, Any]) -> bytes:
    """Return an order or an answer as a line of JSON."""
    return json.dumps(words).encode() + b"\n"


def _set_up_worker(output: int, folder: str) -> None:
    """Give a new worker its own streams, folder and environment.

    The worker prints into the pipe `output`, reads nothing, works in its folder, and knows nothing
    about the user's environment.
    """
    nowhere = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nowhere, 0)
    os.dup2(output, 1)
    os.dup2(output, 2)
    os.close(nowhere)
    os.close(output)
    sys.stdin = open(0, encoding="utf-8", closefd=False)
    sys.stdout, sys.stderr = (
        open(number, "w", 1, encoding="utf-8", errors="backslashreplace", closefd=False)
        for number in (1, 2)
    )
    os.chdir(folder)
    os.environ.clear()
    # torch.compile would start a compiler. With TORCHDYNAMO_DISABLE it returns functions unchanged.
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
    # The fork has lost torch's thread pool. If two threads of a submission asked for the pool first
    # at the same time, they would find none. This call makes a new pool.
    torch.set_num_threads(1)
    sys.argv = [""]
    warnings.resetwarnings()  # the grader's filters must not apply
    sys.path[:] = [
        path
        for path in sys.path
        if path.endswith(("site-packages", "dist-packages", ".zip", "lib-dynload"))
        or "lib/python" in path
    ]
    signal.signal(signal.SIGINT, signal.default_int_handler)


def _kill_family(pid: int) -> None:
    """Stop, then kill, a worker and its descendants.

    A stopped process cannot start another process while the others are being killed.
    """
    for _ in range(5):
        family = [pid, *descendants(pid)]
        for sign in (signal.SIGSTOP, signal.SIGKILL):
            for member in family:
                with contextlib.suppress(ProcessLookupError, PermissionError):
                    os.kill(member, sign)
        if len(family) == 1:
            break


def _kill(pid: int, *, group: bool) -> None:
    with contextlib.suppress(ProcessLookupError, PermissionError):
        (os.killpg if group else os.kill)(pid, signal.SIGKILL)
