"""What a worker tries when it is asked what it can do: everything that a submission may not, for real. Runs confined as any submission."""

from __future__ import annotations

import ctypes
import errno
import fcntl
import json
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

from trainer.sandbox.copy_search import searched

_PTRACE_SEIZE = 0x4206  # attaching would stop the grader
_PR_GET_NO_NEW_PRIVS = 39
_CAPABILITIES_3 = 0x20080522  # <linux/capability.h>
_MQ_OPEN_UNLINK = {"x86_64": (240, 241), "aarch64": (180, 181)}
# setxattrat of Linux 6.13; landlock_add_rule, process_mrelease, cachestat and file_setattr, which
# fail on arguments that mean nothing; and a number that no kernel has
_SETXATTRAT, _NEWER_CALLS, _NO_CALL = 463, (445, 448, 451, 463, 469), 1023
_MIB = b"\0" * (1 << 20)


def try_all(asked: Mapping[str, Any], folder: str) -> bytes:
    """Carry out one trial; what comes of it as JSON.

    Args:
        asked: `what` is "all", "disk", "threads" or "copies"; paths and the grader's pid, which only serve to be tried.
        folder: the worker's own.
    """
    match asked["what"]:
        case "disk":
            return json.dumps({"refused": _fails(lambda: _fill(folder, asked["bytes"]))}).encode()
        case "threads":
            return json.dumps({"refused": _fails(lambda: _start_threads(asked["count"]))}).encode()
        case "copies":
            return searched(asked)
    left: list[int] = []
    tried = {
        "open a network socket": _fails(
            lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).close()
        ),
        "read the solutions": _fails(lambda: _read(asked["solutions"])),
        "read the engine": _fails(lambda: _read(asked["engine"])),
        "read the home folder": all(_fails(partial(_read, path)) for path in asked["at home"]),
        "read another submission": _fails(lambda: _read(asked["other"])),
        "write outside its own folder": _fails(
            lambda: os.close(os.open(asked["outside"], os.O_CREAT | os.O_WRONLY, 0o600))
        ),
        "start a process": _fails(lambda: left.append(_fork_for_good())),
        "see the grader": _fails(lambda: _read(f"/proc/{asked['grader']}/status")),
        "trace the grader": _fails(lambda: _trace(asked["grader"])),
        "read the grader's memory": _fails(
            lambda: open(f"/proc/{asked['grader']}/mem", "rb").close()
        ),
        "signal the grader": _fails(lambda: os.kill(asked["grader"], 0)),
        "get round the memory limit": _fails(lambda: os.close(os.memfd_create("probe")))
        and _fails(lambda: bytearray(asked["bytes_of_memory"])),
        "change attributes of another's file": _changes_none(asked["other"]),
        "hold a lease on a file": _fails(lambda: _lease(asked["leased"])),
        "use shared memory of the system": _shares_none(),
        "use an unknown system call": _knows_none(),
        "raise its own limits": _fails(_raise_limit),
        "gain privileges": _gains_none(),
    }
    return json.dumps(
        {
            "tried": tried,
            "left": left,
            "threads": _torch_threads_work(),
            "writes": not _fails(lambda: _write(folder)),
        }
    ).encode()


def _fails(action: Callable[[], object]) -> bool:
    try:
        action()
    except (OSError, ValueError, AttributeError, MemoryError, RuntimeError):
        return True
    return False


def _read(path: str) -> None:
    """Something of a file, or of a folder."""
    if os.path.isdir(path):
        os.listdir(path)
        return
    with open(path, "rb") as file:
        file.read(1)


def _write(folder: str) -> None:
    Path(folder, "note.txt").write_text("kept", encoding="utf-8")


def _fork_for_good() -> int:
    """A process that leaves its session and stays."""
    pid = os.fork()
    if pid == 0:
        os.setsid()
        time.sleep(60)
        os._exit(0)
    return pid


def _trace(pid: int) -> None:
    if ctypes.CDLL(None, use_errno=True).ptrace(_PTRACE_SEIZE, pid, 0, 0) != 0:
        raise OSError(ctypes.get_errno(), "ptrace")


def _changes_none(path: str) -> bool:
    """Return whether mode, times and attributes of a file stay, by old calls and by a new one."""
    return all(
        _fails(action)
        for action in (
            lambda: os.chmod(path, 0o600),
            lambda: os.utime(path),
            lambda: os.setxattr(path, "user.attn-drill", b"x"),
            lambda: _set_attribute_at(path),
        )
    )


def _set_attribute_at(path: str) -> None:
    value = ctypes.create_string_buffer(b"x")
    given = struct.pack("<QII", ctypes.addressof(value), 1, 0)
    at_working_folder = -100
    _call(_SETXATTRAT, at_working_folder, path.encode(), 0, b"user.attn-drill", given, len(given))


def _lease(path: str) -> None:
    """Take a lease, and give it back."""
    with open(path, "rb") as file:
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_RDLCK)
        fcntl.fcntl(file, fcntl.F_SETLEASE, fcntl.F_UNLCK)


def _shares_none() -> bool:
    """Return whether no memory, semaphores or queues that outlive a process can be made.

    Those that can be made are removed again.
    """
    libc, private, mode, remove = ctypes.CDLL(None, use_errno=True), 0, 0o600, 0
    if (memory := libc.shmget(private, 4096, mode)) >= 0:
        libc.shmctl(memory, remove, None)
    if (semaphores := libc.semget(private, 1, mode)) >= 0:
        libc.semctl(semaphores, 0, remove)
    if (queue := libc.msgget(private, mode)) >= 0:
        libc.msgctl(queue, remove, None)
    return memory < 0 and semaphores < 0 and queue < 0 and _fails(_make_named_queue)


def _make_named_queue() -> None:
    """Make a POSIX message queue, and remove it."""
    opening, unlinking = _MQ_OPEN_UNLINK.get(platform.machine(), (-1, -1))
    name = f"attn-drill-{os.getpid()}".encode()
    os.close(_call(opening, name, os.O_CREAT | os.O_RDWR, 0o600, None))
    _call(unlinking, name)


def _knows_none() -> bool:
    """Return whether the answer to newer calls is that there is no such call. They do nothing."""
    return all(_answer(number) == errno.ENOSYS for number in (*_NEWER_CALLS, _NO_CALL))


def _call(number: int, *arguments: object) -> int:
    """Make a system call by its number.

    Raises:
        OSError: if it fails.
    """
    libc = ctypes.CDLL(None, use_errno=True)
    given = [ctypes.c_long(value) if isinstance(value, int) else value for value in arguments]
    found = int(libc.syscall(ctypes.c_long(number), *given))
    if found < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return found


def _answer(number: int) -> int:
    """Return the error of a call whose arguments mean nothing; 0 where there is none."""
    try:
        _call(number, *[-1] * 6)
    except OSError as error:
        return error.errno or 0
    return 0


def _raise_limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def _gains_none() -> bool:
    """Whether no new program could gain privileges, and none are left."""
    libc = ctypes.CDLL(None)
    if libc.prctl(_PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1 or not hasattr(libc, "capget"):
        return False
    kept = ctypes.create_string_buffer(24)
    read = libc.capget(struct.pack("<Ii", _CAPABILITIES_3, 0), kept)
    effective, permitted = (
        struct.unpack("<II4xII4x", kept.raw)[0::2],
        struct.unpack("<II4xII4x", kept.raw)[1::2],
    )
    return read == 0 and not any(effective) and not any(permitted)


def _fill(folder: str, count: int) -> None:
    for number in range(-(-count // len(_MIB))):
        Path(folder, f"{number}.bin").write_bytes(_MIB)


def _start_threads(count: int) -> None:
    """Threads that stay; a second for the fork server to notice."""
    threading.stack_size(64 << 10)
    for _ in range(count):
        threading.Thread(target=time.sleep, args=(5,), daemon=True).start()
    time.sleep(1)


def _torch_threads_work() -> bool:
    torch.set_num_threads(2)
    a = torch.ones(400, 400)
    return bool((a @ a)[0, 0] == 400)
