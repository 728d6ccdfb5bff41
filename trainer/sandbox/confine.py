"""Take away from this process all that a submission does not need: files, network, other processes, privileges.

Landlock and seccomp by small ctypes calls (the packages for them are an alpha and one that needs a C library).
Each part is applied where the kernel has it; `probe` finds out what holds. Nothing here imports torch.
"""

from __future__ import annotations

import ctypes
import math
import os
import platform
import resource
import signal
import struct
import sys
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from trainer.sandbox import seccomp
from trainer.sandbox.readable_files import readable_paths as readable_paths
from trainer.sandbox.syscalls import (
    CAPSET,
    LANDLOCK_ADD_RULE,
    LANDLOCK_CREATE_RULESET,
    LANDLOCK_RESTRICT_SELF,
    SECCOMP,
)

_PR_SET_PDEATHSIG, _PR_CAPBSET_DROP, _PR_SET_NO_NEW_PRIVS = 1, 24, 38
FILE_BYTES = 16 << 20
_OPEN_FILES = 256

# Landlock access rights, <linux/landlock.h>
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
_RIGHTS_BY_ABI = {
    1: (1 << 13) - 1,
    2: (1 << 14) - 1,
    3: (1 << 15) - 1,
    4: (1 << 15) - 1,
    5: (1 << 16) - 1,
}
_ON_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | 1 << 15
_READ_ONLY = _READ_FILE | _READ_DIR
_ALL = (1 << 16) - 1


def limit(memory_bytes: int, seconds: float) -> bool:
    """Bound address space (beyond what is mapped now), CPU time from now on, file size, open files; no core dumps.

    The fork server ends a worker whose CPU time is over. The kernel stands behind it: it sends SIGXCPU a little later, and
    kills two seconds after that, whatever the worker has done to the signal.
    """
    used = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    most_seconds = math.ceil(used + seconds) + 1
    # Hard as well as soft: a soft limit alone can be raised or its signal ignored.
    wanted = {
        resource.RLIMIT_CPU: (most_seconds, most_seconds + 2),
        resource.RLIMIT_FSIZE: (FILE_BYTES, FILE_BYTES),
        resource.RLIMIT_NOFILE: (_OPEN_FILES, _OPEN_FILES),
        resource.RLIMIT_CORE: (0, 0),
    }
    if (mapped := _mapped_bytes()) is not None:
        wanted[resource.RLIMIT_AS] = (mapped + memory_bytes,) * 2
    try:
        for what, (soft, hard) in wanted.items():
            most = resource.getrlimit(what)[1]
            if most != resource.RLIM_INFINITY:
                soft, hard = min(soft, most), min(hard, most)
            resource.setrlimit(what, (soft, hard))
    except (OSError, ValueError):
        return False
    return resource.RLIMIT_AS in wanted


def _mapped_bytes() -> int | None:
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except (OSError, ValueError):
        return None


def die_with_parent() -> None:
    """Ask for SIGKILL when the parent dies (Linux)."""
    if sys.platform == "linux":
        _libc().prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def shut_memory() -> None:
    """Let no other process of this user look into this one's memory, nor into its children's (Linux)."""
    if sys.platform == "linux":
        _libc().prctl(4, 0, 0, 0, 0)  # PR_SET_DUMPABLE


def become_subreaper() -> None:
    """Get the orphans of one's descendants, so that a grandchild that left its session is found (Linux)."""
    if sys.platform == "linux":
        _libc().prctl(36, 1, 0, 0, 0)


@dataclass(frozen=True)
class Landlock:
    """The rules of files for all workers of a fork server, made once: some hundred paths take 4 ms.

    A worker gets two layers and may do only what both allow. The first layer is the ruleset of all
    workers: it lets them write to the room, which holds their folders. The second layer is the
    worker's own: of the room it allows this worker's folder alone.

    ruleset     a descriptor of the ruleset of all workers; -1 where the kernel has no Landlock
    around      folders that hold all that is readable, and of the room nothing (`_before_the_ways_part`)
    """

    ruleset: int
    around: tuple[str, ...]

    @classmethod
    def of(cls, readable: Iterable[str], room: str) -> Landlock:
        """Make the ruleset of all workers.

        Args:
            readable: files and folders that every worker may read.
            room: the folder in which every worker gets a folder.
        """
        room, readable = os.path.realpath(room), [*readable, os.devnull]
        if (ruleset := _new_ruleset()) < 0:
            return cls(-1, ())
        for path in readable:
            _add_rule(ruleset, path, _READ_FILE | _WRITE_FILE if path == os.devnull else _READ_ONLY)
        _add_rule(ruleset, room, _ALL & ~_EXECUTE)
        return cls(
            ruleset, tuple(dict.fromkeys(_before_the_ways_part(path, room) for path in readable))
        )

    def restrict(self, writable: str) -> None:
        """Restrict this process for good.

        Raises:
            OSError: if the kernel has Landlock and refuses a layer; nothing may run then.
        """
        if self.ruleset < 0:
            return
        if (own := _new_ruleset()) < 0:
            raise OSError(ctypes.get_errno(), "the kernel makes no rules of files for this worker")
        for path in self.around:
            _add_rule(own, path, _READ_ONLY | _WRITE_FILE)
        _add_rule(own, writable, _ALL & ~_EXECUTE)
        for ruleset in (self.ruleset, own):
            if _libc().syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0) != 0:
                raise OSError(
                    ctypes.get_errno(),
                    "the kernel does not apply the rules of files to this worker",
                )
            os.close(ruleset)


def confine(landlock: Landlock | None, writable: str) -> None:
    """Restrict this process for good; `limit` is called apart. Parts that the kernel lacks are left out."""
    if sys.platform != "linux":
        return
    _libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
    if landlock is not None:
        landlock.restrict(writable)
    _drop_capabilities()
    _seccomp()


def _libc() -> ctypes.CDLL:
    return ctypes.CDLL(None, use_errno=True)


def _before_the_ways_part(path: str, room: str) -> str:
    """Return the shortest folder on the way to a path that is not on the way to the room.

    If the room lies in the path, return the path. Every worker can then read every other's folder;
    `doctor` shows it.
    """
    on_the_way = {Path(room), *Path(room).parents}
    return next(
        (
            str(folder)
            for folder in (*reversed(Path(path).parents), Path(path))
            if folder not in on_the_way
        ),
        path,
    )


@cache
def _abi() -> int:
    """Return the version of the kernel's Landlock, less than 1 where there is none."""
    return int(_libc().syscall(LANDLOCK_CREATE_RULESET, None, 0, 1))


def _new_ruleset() -> int:
    """Return a descriptor of rules that allow nothing: no file, no TCP, no signals to processes
    outside; -1 if the kernel makes none.
    """
    if (abi := _abi()) < 1:
        return -1
    tcp = 3 if abi >= 4 else 0
    scoped = 3 if abi >= 6 else 0
    attributes = struct.pack("<QQQ", _handled(abi), tcp, scoped)[
        : 8 if abi < 4 else 16 if abi < 6 else 24
    ]
    return int(_libc().syscall(LANDLOCK_CREATE_RULESET, attributes, len(attributes), 0))


def _handled(abi: int) -> int:
    return _RIGHTS_BY_ABI.get(abi, _RIGHTS_BY_ABI[5])


def _add_rule(ruleset: int, path: str, rights: int) -> None:
    """Allow this of a file, or of a folder and all that is in it; nothing where there is none."""
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        allowed = rights & _handled(_abi()) & (-1 if os.path.isdir(path) else _ON_FILES)
        _libc().syscall(LANDLOCK_ADD_RULE, ruleset, 1, struct.pack("<Qi", allowed, fd), 0)
    finally:
        os.close(fd)


def _drop_capabilities() -> None:
    number = CAPSET.get(platform.machine())
    if number is None:
        return
    libc = _libc()
    for capability in range(64):
        if libc.prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            break
    version_3 = 0x20080522
    libc.syscall(number, struct.pack("<Ii", version_3, 0), bytes(24))


def _seccomp() -> None:
    """Refuse all system calls but those that torch and Python need, with ENOSYS."""
    if (machine := platform.machine()) in SECCOMP:
        seccomp.install(machine, os.getpid())
