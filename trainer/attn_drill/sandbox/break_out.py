"""The trials of the self-test: a worker really tries everything that a submission may not do.

The code here runs in a worker that is confined like the worker of any submission.
"""

from __future__ import annotations

import ctypes
import errno
import fcntl
import os
import platform
import resource
import socket
import struct
import threading
import time
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import Any

import torch

from attn_drill.sandbox._system_calls import CAPABILITIES_3

_PTRACE_SEIZE = 0x4206  # attaching would stop the grader
_PR_GET_NO_NEW_PRIVS = 39
_MQ_OPEN_UNLINK = {"x86_64": (240, 241), "aarch64": (180, 181)}
# setxattrat of Linux 6.13; landlock_add_rule, process_mrelease, cachestat, setxattrat and
# file_setattr, which fail on meaningless arguments; and a call number that no kernel has
_SETXATTRAT, _NEWER_CALLS, _NO_CALL = 463, (445, 448, 451, 463, 469), 1023
_MIB = b"\0" * (1 << 20)


def run_trial(trial: Mapping[str, Any], folder: str) -> dict[str, Any]:
    """Run one trial and return its result.

    Args:
        trial: `kind` is "all", "disk" or "threads". The other entries belong to the kind:
            paths and the grader's pid, which the worker tries to reach, and sizes.
    """
    match trial["kind"]:
        case "disk":
            return {"refused": _fails(lambda: _fill(folder, trial["bytes"]))}
        case "threads":
            return {"refused": _fails(lambda: _start_threads(trial["count"]))}
    started_pids: list[int] = []
    tried = {
        "open a network socket": _fails(
            lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()
        ),
        "read the solutions": _fails(lambda: _read(trial["solutions"])),
        "read the engine": _fails(lambda: _read(trial["engine"])),
        "read the home folder": all(_fails(partial(_read, path)) for path in trial["home_files"]),
        "read another submission": _fails(lambda: _read(trial["other"])),
        "write outside its own folder": _fails(
            lambda: os.close(os.open(trial["outside"], os.O_CREAT | os.O_WRONLY, 0o600))
        ),
        "start a process": _fails(lambda: started_pids.append(_fork_and_stay())),
        "see the grader": _fails(lambda: _read(f"/proc/{trial['grader']}/status")),
        "trace the grader": _fails(lambda: _trace(trial["grader"])),
        "read the grader's memory": _fails(
            lambda: open(f"/proc/{trial['grader']}/mem", "rb").close()
        ),
        "signal the grader": _fails(lambda: os.kill(trial["grader"], 0)),
        "bypass the memory limit": _fails(lambda: os.close(os.memfd_create("probe")))
        and _fails(lambda: bytearray(trial["bytes_of_memory"])),
        "change attributes of a file outside its folder": _cannot_change_attributes(trial["other"]),
        "hold a lease on a file": _fails(lambda: _lease(trial["leased"])),
        "use shared memory of the system": _cannot_share_memory(),
        # With these arguments, newer system calls do nothing.
        "use an unknown system call": all(
            _errno_of(number) == errno.ENOSYS for number in (*_NEWER_CALLS, _NO_CALL)
        ),
        "raise its own limits": _fails(
            lambda: resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY,) * 2)
        ),
        "gain privileges": _has_no_privileges(),
    }
    torch.set_num_threads(2)
    product = torch.ones(400, 400) @ torch.ones(400, 400)
    return {
        "tried": tried,
        "pids": started_pids,
        "threads": bool(product[0, 0] == 400),
        "writes": not _fails(lambda: Path(folder, "note.txt").write_text("kept")),
    }


def _fails(action: Callable[[], object]) -> bool:
    try:
        action()
    except (OSError, ValueError, AttributeError, MemoryError, RuntimeError):
        return True
    return False


def _read(path: str) -> None:
    """Read the first byte of a file, or list a folder."""
    if os.path.isdir(path):
        os.listdir(path)
        return
    with open(path, "rb") as file:
        file.read(1)


def _fork_and_stay() -> int:
    """Start a process that leaves its session and lives for a minute; return its pid."""
    pid = os.fork()
    if pid == 0:
        os.setsid()
        time.sleep(60)
        os._exit(0)
    return pid


def _trace(pid: int) -> None:
    if ctypes.CDLL(None, use_errno=True).ptrace(_PTRACE_SEIZE, pid, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")


def _cannot_change_attributes(path: str) -> bool:
    """Return whether no call, old or new, can change the mode, times or attributes of a file."""
    name, value = b"user.attn-drill", ctypes.create_string_buffer(b"x")
    xattr_args = struct.pack("<QII", ctypes.addressof(value), 1, 0)
    at_working_folder = -100
    actions: list[Callable[[], object]] = [
        lambda: os.chmod(path, 0o600),
        lambda: os.utime(path),
        lambda: os.setxattr(path, name, b"x"),
        lambda: _call(_SETXATTRAT, at_working_folder, path.encode(), 0, name, xattr_args, 16),
    ]
    return all(map(_fails, actions))


def _lease(path: str) -> None:
    """Take a lease on a file and give it back."""
    with open(path, "rb") as file:
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)


def _cannot_share_memory() -> bool:
    """Return whether this process can make no memory or queues that outlive it; remove them."""
    libc, private, mode, remove = ctypes.CDLL(None, use_errno=True), 0, 0o600, 0
    if (memory := libc.shmget(private, 4096, mode)) >= 0:
        libc.shmctl(memory, remove, None)
    if (semaphores := libc.semget(private, 1, mode)) >= 0:
        libc.semctl(semaphores, 0, remove)
    if (queue := libc.msgget(private, mode)) >= 0:
        libc.msgctl(queue, remove, None)
    return memory < 0 and semaphores < 0 and queue < 0 and _fails(_make_named_queue)


def _make_named_queue() -> None:
    """Make a POSIX message queue and remove it."""
    opening, unlinking = _MQ_OPEN_UNLINK.get(platform.machine(), (-1, -1))
    name = f"attn-drill-{os.getpid()}".encode()
    os.close(_call(opening, name, os.O_CREAT | os.O_RDWR, 0o600, None))
    _call(unlinking, name)


def _call(number: int, *arguments: object) -> int:
    """Make a system call by its number; raise an OSError if it fails."""
    libc = ctypes.CDLL(None, use_errno=True)
    c_arguments = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    result = int(libc.syscall(ctypes.c_long(number), *c_arguments))
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return result


def _errno_of(number: int) -> int:
    """Return the errno of a call with meaningless arguments; 0 if it succeeds."""
    try:
        _call(number, *[-1] * 6)
    except OSError as error:
        return error.errno or 0
    return 0


def _has_no_privileges() -> bool:
    """Return whether no new program can gain privileges, and this process has none."""
    libc = ctypes.CDLL(None)
    if libc.prctl(_PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 or not hasattr(libc, "capget"):
        return False
    capabilities = ctypes.create_string_buffer(24)
    error = libc.capget(struct.pack("<Ii", CAPABILITIES_3, 0), capabilities)
    effective_and_permitted = struct.unpack("<II4xII4x", capabilities.raw)
    return error == 0 and not any(effective_and_permitted)


def _fill(folder: str, count: int) -> None:
    """Write so many bytes, then wait for the fork server, which ends this worker for it."""
    for index in range(-(-count // len(_MIB))):
        Path(folder, f"{index}.bin").write_bytes(_MIB)
    time.sleep(5)


def _start_threads(count: int) -> None:
    """Start threads that live for 5 seconds; wait for the fork server, which ends this worker."""
    threading.stack_size(64 << 10)
    for _ in range(count):
        threading.Thread(target=time.sleep, args=(5,), daemon=True).start()
    time.sleep(5)
