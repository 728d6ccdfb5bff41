"""Confine this process: take away files, network, other processes and privileges.

A submission needs none of them. Landlock and seccomp are called through ctypes: one of the two
Python packages for them is an alpha version, and the other needs a C library. A part that the
kernel lacks is left out; `attn_drill.worker.selftest` finds out what holds. Nothing here imports
torch.
"""

from __future__ import annotations

import contextlib
import ctypes
import math
import os
import platform
import resource
import signal
import struct
import sys
import sysconfig
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from attn_drill.sandbox import _system_calls
from attn_drill.sandbox._system_calls import (
    CAPABILITIES_3,
    CAPSET,
    LANDLOCK_ADD_RULE,
    LANDLOCK_CREATE_RULESET,
    LANDLOCK_RESTRICT_SELF,
    landlock_abi,
    libc,
)
from attn_drill.sandbox.isolation import has_seccomp

_SYSTEM_FOLDERS = ("/usr/lib", "/usr/lib32", "/usr/lib64", "/usr/local/lib", "/lib", "/lib64")
_SYSTEM_FILES = (
    *("/usr/share/zoneinfo", "/usr/share/locale", "/etc/ld.so.cache", "/etc/localtime"),
    *("/sys/devices/system/cpu", "/proc/cpuinfo", "/dev/urandom", "/dev/random", "/dev/zero"),
)
_SITE_NAMES = ("site-packages", "dist-packages")

_PR_SET_PDEATHSIG, _PR_SET_DUMPABLE, _PR_CAPBSET_DROP = 1, 4, 24
_PR_SET_CHILD_SUBREAPER, _PR_SET_NO_NEW_PRIVS = 36, 38
FILE_BYTES = 16 << 20
_OPEN_FILES = 256

# Landlock access rights, <linux/landlock.h>
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR, _TRUNCATE = 1 << 0, 1 << 1, 1 << 2, 1 << 3, 1 << 14
_RIGHT_COUNT_BY_ABI = {1: 13, 2: 14, 3: 15, 4: 15}
_MOST_RIGHTS = 16
_ON_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE | 1 << 15
_READ_ONLY = _READ_FILE | _READ_DIR
_ALL = (1 << _MOST_RIGHTS) - 1


def readable_paths(hidden: Iterable[Path]) -> list[str]:
    """Return the files and folders that a worker may read.

    A folder in the list includes everything below it. Landlock cannot exclude a folder of an
    allowed tree. So a tree that contains a hidden path is split into its entries, and so is every
    folder between the tree and the hidden path.
    """
    kept_out = {os.path.realpath(path) for path in hidden}
    around = {str(parent) for path in kept_out for parent in Path(path).parents}
    paths: list[str] = []
    for tree in _trees():
        waiting = [tree]
        while waiting:
            path = waiting.pop()
            if path in kept_out:
                continue
            if path not in around:
                paths.append(path)
                continue
            with contextlib.suppress(OSError):  # a worker of the same user cannot list it either
                waiting += [entry.path for entry in os.scandir(path) if _is_kept(entry)]
    paths += [path for path in map(os.path.realpath, _SYSTEM_FILES) if os.path.exists(path)]
    return list(dict.fromkeys(paths))


def _is_kept(entry: os.DirEntry[str]) -> bool:
    """Return whether an entry of a split folder may be listed.

    A link out of the folder needs no rule: it is useful only if its target is readable by itself.
    """
    if not entry.is_symlink():
        return True
    return os.path.dirname(os.path.realpath(entry.path)) == os.path.dirname(entry.path)


def _trees() -> list[str]:
    """Return the folders that a worker may read, except the hidden paths in them."""
    sites = [path for path in sys.path if os.path.basename(path) in _SITE_NAMES]
    stdlib = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib")]
    folders = (*_SYSTEM_FOLDERS, *stdlib, os.path.join(sys.base_prefix, "lib"), *sites)
    trees = {os.path.realpath(path): None for path in folders if path and os.path.isdir(path)}
    return list(trees)


class ConfinementError(Exception):
    """The kernel refused a part of the confinement that it has. No submission may run then."""


def limit(memory_bytes: int, seconds: float) -> None:
    """Limit this process: address space, CPU time, file size, open files. Forbid core dumps.

    When the CPU time is over, the kernel sends SIGXCPU. If the worker ignores the signal, the
    kernel kills it a second later.

    Args:
        memory_bytes: limit of the address space, beyond the memory that is mapped now.
        seconds: limit of the CPU time, counted from now.

    Raises:
        ConfinementError: if the kernel does not accept a limit.
    """
    used_seconds = sum(resource.getrusage(resource.RUSAGE_SELF)[:2])
    soft_seconds = math.ceil(used_seconds + seconds)
    # Set the hard limits too: the worker could raise a soft limit, or ignore its signal.
    limits = {
        resource.RLIMIT_CPU: (soft_seconds, soft_seconds + 1),
        resource.RLIMIT_FSIZE: (FILE_BYTES, FILE_BYTES),
        resource.RLIMIT_NOFILE: (_OPEN_FILES, _OPEN_FILES),
        resource.RLIMIT_CORE: (0, 0),
    }
    if (mapped := _mapped_bytes()) is not None:
        limits[resource.RLIMIT_AS] = (mapped + memory_bytes,) * 2
    try:
        for resource_id, (soft, hard) in limits.items():
            current_hard = resource.getrlimit(resource_id)[1]
            if current_hard != resource.RLIM_INFINITY:
                soft, hard = min(soft, current_hard), min(hard, current_hard)
            resource.setrlimit(resource_id, (soft, hard))
    except (OSError, ValueError) as error:
        raise ConfinementError(f"the kernel does not accept a limit: {error}") from error


def _mapped_bytes() -> int | None:
    """Return the mapped bytes of this process; None if the system has no /proc (macOS)."""
    try:
        with open("/proc/self/statm", encoding="ascii") as file:
            return int(file.read().split()[0]) * resource.getpagesize()
    except (OSError, ValueError):
        return None


def die_with_parent() -> None:
    """Have the kernel send SIGKILL to this process when its parent dies (Linux)."""
    if sys.platform == "linux":
        libc().prctl(_PR_SET_PDEATHSIG, int(signal.SIGKILL), 0, 0, 0)


def shut_memory() -> None:
    """Forbid other processes of this user to read this process's memory (Linux).

    The children of this process inherit the protection.
    """
    if sys.platform == "linux":
        libc().prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)


def become_subreaper() -> None:
    """Adopt the orphans among all descendants (Linux).

    So this process finds a grandchild that has left its session.
    """
    if sys.platform == "linux":
        libc().prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


@dataclass(frozen=True)
class Landlock:
    """The Landlock rules on files for all workers of a fork server.

    They are made once, because some hundred paths take 4 ms. A worker gets two layers and may do
    only what both layers allow. The first layer is the ruleset of all workers: it lets them write
    to the room, which is the folder that holds the workers' folders. The second layer is made for
    one worker: inside the room it allows only the folder of this worker.
    """

    ruleset: int  # a descriptor of the ruleset of all workers; -1 if the kernel has no Landlock
    # Folders that together contain every readable path, but nothing of the room.
    around: tuple[str, ...]

    @classmethod
    def of(cls, readable: Iterable[str], room: str) -> Landlock:
        room, readable = os.path.realpath(room), [*readable, os.devnull]
        if (ruleset := _new_ruleset()) < 0:
            return cls(-1, ())
        for path in readable:
            _add_rule(ruleset, path, _READ_FILE | _WRITE_FILE if path == os.devnull else _READ_ONLY)
        _add_rule(ruleset, room, _ALL & ~_EXECUTE)
        around = dict.fromkeys(_folder_outside_room(path, room) for path in readable)
        return cls(ruleset, tuple(around))

    def restrict(self, writable: str) -> None:
        """Restrict this process to its folder `writable` and the readable paths, for ever."""
        if self.ruleset < 0:
            return
        if (own_ruleset := _new_ruleset()) < 0:
            raise _refused("make Landlock rules for a worker")
        for path in self.around:
            _add_rule(own_ruleset, path, _READ_ONLY | _WRITE_FILE)
        _add_rule(own_ruleset, writable, _ALL & ~_EXECUTE)
        for ruleset in (self.ruleset, own_ruleset):
            if libc().syscall(LANDLOCK_RESTRICT_SELF, ruleset, 0) != 0:
                raise _refused("apply the Landlock rules to a worker")
            os.close(ruleset)


def confine(landlock: Landlock | None, writable: str) -> None:
    """Restrict this process for ever. Parts that the kernel lacks are left out.

    Args:
        landlock: the rules on files; None to apply no rules on files.
        writable: the folder of this worker, in which it may write.

    Raises:
        ConfinementError: if the kernel refuses a part that it has.
    """
    if sys.platform != "linux":
        return
    if libc().prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        raise _refused("forbid new privileges")
    if landlock is not None:
        landlock.restrict(writable)
    _drop_capabilities()
    if has_seccomp() and not _system_calls.install(platform.machine(), os.getpid()):
        raise _refused("accept the seccomp filter")


def _refused(action: str) -> ConfinementError:
    return ConfinementError(f"the kernel does not {action}: {os.strerror(ctypes.get_errno())}")


def _folder_outside_room(path: str, room: str) -> str:
    """Return the outermost folder that contains the path but not the room."""
    room_and_parents = {Path(room), *Path(room).parents}
    for folder in (*reversed(Path(path).parents), Path(path)):
        if folder not in room_and_parents:
            return str(folder)
    # The path contains the room. Every worker can then read the folders of the other workers;
    # `doctor` shows this.
    return path


def _new_ruleset() -> int:
    """Return a descriptor of a ruleset that allows nothing; -1 if the kernel makes no ruleset.

    The ruleset forbids all files, TCP, and signals to processes outside.
    """
    if (abi := landlock_abi()) < 1:
        return -1
    tcp = 3 if abi >= 4 else 0
    scoped = 3 if abi >= 6 else 0
    attributes = struct.pack("<QQQ", _handled(abi), tcp, scoped)
    size = 8 if abi < 4 else 16 if abi < 6 else 24
    return int(libc().syscall(LANDLOCK_CREATE_RULESET, attributes, size, 0))


def _handled(abi: int) -> int:
    """Return the rights on files that a version of Landlock knows."""
    return (1 << _RIGHT_COUNT_BY_ABI.get(abi, _MOST_RIGHTS)) - 1


def _add_rule(ruleset: int, path: str, rights: int) -> None:
    """Allow rights on a file, or on a folder and everything in it. Skip a missing path."""
    try:
        fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    try:
        allowed = rights & _handled(landlock_abi()) & (-1 if os.path.isdir(path) else _ON_FILES)
        libc().syscall(LANDLOCK_ADD_RULE, ruleset, 1, struct.pack("<Qi", allowed, fd), 0)
    finally:
        os.close(fd)


def _drop_capabilities() -> None:
    number = CAPSET.get(platform.machine())
    if number is None:
        return
    for capability in range(64):
        if libc().prctl(_PR_CAPBSET_DROP, capability, 0, 0, 0) != 0:
            break
    if libc().syscall(number, struct.pack("<Ii", CAPABILITIES_3, 0), bytes(24)) != 0:
        raise _refused("drop the capabilities of a worker")
