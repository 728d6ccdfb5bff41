"""List the Linux system calls that a submission may make, and make a seccomp filter of the list.

The numbers are those of x86_64 and aarch64. Every call that is not listed is refused, so a call
that a future kernel adds is refused too. The comment of each group names the code that needs the
calls.
"""

from __future__ import annotations

import ctypes
import errno
import struct
from dataclasses import dataclass
from functools import cache
from typing import Final

# machine -> (AUDIT_ARCH_*, column of the tables below)
SECCOMP: dict[str, tuple[int, int]] = {"x86_64": (0xC000003E, 0), "aarch64": (0xC00000B7, 1)}
CAPSET: dict[str, int] = {"x86_64": 126, "aarch64": 91}
CAPABILITIES_3 = 0x20080522  # <linux/capability.h>
LANDLOCK_CREATE_RULESET, LANDLOCK_ADD_RULE, LANDLOCK_RESTRICT_SELF = 444, 445, 446

Numbers = tuple[int | None, int | None]

ALLOWED: Final[dict[str, Numbers]] = {
    # malloc, torch's allocator, memory-mapped files, kernels that oneDNN compiles.
    "mmap": (9, 222),
    "munmap": (11, 215),
    "mprotect": (10, 226),
    "mremap": (25, 216),
    "madvise": (28, 233),
    "brk": (12, 214),
    "msync": (26, 227),
    # Threads of Python and of OpenMP, and their locks. clone may only make threads (RULES). clone3
    # is missing: its flags lie in memory, which a filter cannot read. libc uses clone instead.
    "clone": (56, 220),
    "exit": (60, 93),
    "exit_group": (231, 94),
    "futex": (202, 98),
    "gettid": (186, 178),
    "rseq": (334, 293),
    "set_robust_list": (273, 99),
    "set_tid_address": (218, 96),
    "membarrier": (324, 283),
    "sched_yield": (24, 124),
    # OpenMP counts the cores that it may use.
    "sched_getaffinity": (204, 123),
    "getcpu": (309, 168),
    # Signal handlers of Python, faulthandler, raise(), abort(). kill and tgkill can signal only the
    # process itself (RULES).
    "rt_sigaction": (13, 134),
    "rt_sigprocmask": (14, 135),
    "rt_sigreturn": (15, 139),
    "rt_sigpending": (127, 136),
    "rt_sigsuspend": (130, 133),
    "rt_sigtimedwait": (128, 137),
    "sigaltstack": (131, 132),
    "restart_syscall": (219, 128),
    "pause": (34, None),
    "kill": (62, 129),
    "tgkill": (234, 131),
    # time, time.sleep, and the timers of signal.alarm and signal.setitimer, which signal only the
    # process itself.
    "clock_gettime": (228, 113),
    "clock_getres": (229, 114),
    "clock_nanosleep": (230, 115),
    "nanosleep": (35, 101),
    "gettimeofday": (96, 169),
    "time": (201, None),
    "times": (100, 153),
    "alarm": (37, None),
    "getitimer": (36, 102),
    "setitimer": (38, 103),
    # Open files and pipes, the print function, shutil.copyfile. RULES lists the commands of fcntl
    # and ioctl.
    "read": (0, 63),
    "write": (1, 64),
    "readv": (19, 65),
    "writev": (20, 66),
    "pread64": (17, 67),
    "pwrite64": (18, 68),
    "preadv": (295, 69),
    "pwritev": (296, 70),
    "preadv2": (327, 286),
    "pwritev2": (328, 287),
    "lseek": (8, 62),
    "close": (3, 57),
    "close_range": (436, 436),
    "dup": (32, 23),
    "dup2": (33, None),
    "dup3": (292, 24),
    "pipe": (22, None),
    "pipe2": (293, 59),
    "poll": (7, None),
    "ppoll": (271, 73),
    "select": (23, None),
    "pselect6": (270, 72),
    "fcntl": (72, 25),
    "ioctl": (16, 29),
    "fstat": (5, 80),
    "fstatfs": (138, 44),
    "ftruncate": (77, 46),
    "fallocate": (285, 47),
    "fsync": (74, 82),
    "fdatasync": (75, 83),
    "getdents64": (217, 61),
    "fchdir": (81, 50),
    "sendfile": (40, 71),
    "copy_file_range": (326, 285),
    # Imports, os.path, pathlib, tempfile, shutil.rmtree, torch.save and torch.load. Landlock and
    # read-only mounts restrict these calls: they change nothing outside the worker's folder.
    "open": (2, None),
    "openat": (257, 56),
    "stat": (4, None),
    "lstat": (6, None),
    "newfstatat": (262, 79),
    "statx": (332, 291),
    "statfs": (137, 43),
    "access": (21, None),
    "faccessat": (269, 48),
    "faccessat2": (439, 439),
    "readlink": (89, None),
    "readlinkat": (267, 78),
    "getcwd": (79, 17),
    "chdir": (80, 49),
    "truncate": (76, 45),
    "mkdir": (83, None),
    "mkdirat": (258, 34),
    "rmdir": (84, None),
    "unlink": (87, None),
    "unlinkat": (263, 35),
    "rename": (82, None),
    "renameat": (264, 38),
    "renameat2": (316, 276),
    "link": (86, None),
    "linkat": (265, 37),
    "symlink": (88, None),
    "symlinkat": (266, 36),
    "umask": (95, 166),
    # Information about the process and the machine: os, platform, resource, random seeds. The
    # self-test of `doctor` reads capabilities.
    "getpid": (39, 172),
    "getppid": (110, 173),
    "getuid": (102, 174),
    "geteuid": (107, 175),
    "getgid": (104, 176),
    "getegid": (108, 177),
    "getresuid": (118, 148),
    "getresgid": (120, 150),
    "getgroups": (115, 158),
    "capget": (125, 90),
    "uname": (63, 160),
    "sysinfo": (99, 179),
    "getrusage": (98, 165),
    "getrlimit": (97, 163),
    "getrandom": (318, 278),
    # Names of threads, reading of limits, and AMX for oneDNN. Only the options of RULES.
    "prctl": (157, 167),
    "prlimit64": (302, 261),
    "arch_prctl": (158, None),
}

OWN_PROCESS = -1  # in the values of a rule: the id of the process itself

# CLONE_VM, FS, FILES, SIGHAND, THREAD, SYSVSEM, SETTLS, PARENT_SETTID, CHILD_CLEARTID: the flags
# that pthread_create of glibc passes; and the same flags with CLONE_DETACHED, which musl passes.
_THREAD_FLAGS = (0x003D0F00, 0x007D0F00)

# The commands for leases, signal owners, folder notifications, pipe sizes and write hints are
# missing on purpose.
_FCNTL_COMMANDS = (
    0,  # F_DUPFD
    1,  # F_GETFD
    2,  # F_SETFD
    3,  # F_GETFL
    4,  # F_SETFL
    5,  # F_GETLK: sqlite3 uses locks. A process that opens a file does not wait for them
    6,  # F_SETLK, which does not wait
    1030,  # F_DUPFD_CLOEXEC
)

_IOCTL_COMMANDS = (
    0x5401,  # TCGETS: isatty, which open() calls
    0x802C542A,  # TCGETS2: the same in newer libcs
    0x5413,  # TIOCGWINSZ: os.get_terminal_size
    0x541B,  # FIONREAD
    0x5421,  # FIONBIO: os.set_blocking
    0x5450,  # FIONCLEX: os.set_inheritable
    0x5451,  # FIOCLEX
    0x40049409,  # FICLONE: pathlib's copy in Python 3.14; its target must be open for writing
)

_PRCTL_OPTIONS = (
    3,  # PR_GET_DUMPABLE
    15,  # PR_SET_NAME: names of threads
    16,  # PR_GET_NAME
    21,  # PR_GET_SECCOMP
    39,  # PR_GET_NO_NEW_PRIVS
    51,  # PR_SVE_GET_VL: oneDNN on aarch64
    64,  # PR_SME_GET_VL
    0x53564D41,  # PR_SET_VMA: names of mappings in newer libcs
)

_ARCH_PRCTL_CODES = (
    0x1021,  # ARCH_GET_XCOMP_SUPP: with these codes oneDNN finds and requests AMX
    0x1022,  # ARCH_GET_XCOMP_PERM
    0x1023,  # ARCH_REQ_XCOMP_PERM
)

_LOAD, _IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_REFUSE = 0x00050000 | errno.ENOSYS
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2


@dataclass(frozen=True)
class Rule:
    """Allow a call if 32 bits of one argument have one of these values.

    The kernel reads no other bits of these arguments, except of pointers.
    """

    argument: int  # counted from 0
    values: tuple[int, ...]
    is_upper: bool = False  # True for the upper 32 bits of the argument


# A call is allowed if all of its rules hold.
RULES: Final[dict[str, tuple[Rule, ...]]] = {
    "clone": (Rule(0, _THREAD_FLAGS),),
    "kill": (Rule(0, (OWN_PROCESS,)),),
    "tgkill": (Rule(0, (OWN_PROCESS,)),),
    "fcntl": (Rule(1, _FCNTL_COMMANDS),),
    "ioctl": (Rule(1, _IOCTL_COMMANDS),),
    "prctl": (Rule(0, _PRCTL_OPTIONS),),
    "arch_prctl": (Rule(0, _ARCH_PRCTL_CODES),),
    # A process may read its own limits, but not change them: the pointer to new limits is null.
    "prlimit64": (Rule(0, (0,)), Rule(2, (0,)), Rule(2, (0,), is_upper=True)),
}


def libc() -> ctypes.CDLL:
    """Return the C library, whose `errno` can be read after a call."""
    return ctypes.CDLL(None, use_errno=True)


@cache
def landlock_abi() -> int:
    """Return the version of the kernel's Landlock, or a number below 1 if it has no Landlock."""
    return int(libc().syscall(LANDLOCK_CREATE_RULESET, None, 0, 1))


def install(machine: str, own_process: int) -> bool:
    """Restrict this thread, and all threads that it starts, to the allowed calls.

    Every other call fails with ENOSYS. The filter cannot be removed. The caller must set
    PR_SET_NO_NEW_PRIVS before.

    Returns:
        True if the kernel accepted the filter.
    """
    code = program(machine, own_process)
    buffer = ctypes.create_string_buffer(code, len(code))
    sock_fprog = struct.pack("<H6xQ", len(code) // 8, ctypes.addressof(buffer))
    return int(libc().prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, sock_fprog, 0, 0)) == 0


def program(machine: str, own_process: int) -> bytes:
    """Return the filter's instructions, 8 bytes each.

    A call of another architecture kills the process. The numbers of the x32 calls begin at
    0x40000000. None of them is allowed, so they need no separate test.

    Args:
        machine: the result of `platform.machine()`; a key of `SECCOMP`.
        own_process: the id of the process that `kill` and `tgkill` may signal.
    """
    architecture, column = SECCOMP[machine]
    code = [
        _instruction(_LOAD, _ARCHITECTURE),
        _instruction(_IF_EQUAL, architecture, then=1),
        _instruction(_RETURN, _KILL),
        _instruction(_LOAD, _NUMBER),
    ]
    for name in sorted(ALLOWED, key=lambda name: name not in RULES):
        if (number := ALLOWED[name][column]) is not None:
            verdict = _verdict(name, own_process)
            code += [_instruction(_IF_EQUAL, number, otherwise=len(verdict)), *verdict]
    return b"".join([*code, _instruction(_RETURN, _REFUSE)])


def _verdict(name: str, own_process: int) -> list[bytes]:
    """Return code that allows a call if all of its rules hold."""
    code: list[bytes] = []
    for rule in RULES.get(name, ()):
        code.append(_instruction(_LOAD, _ARGUMENTS + 8 * rule.argument + 4 * rule.is_upper))
        # A value that is equal skips the tests after it, and the refusal.
        for skipped, value in zip(range(len(rule.values), 0, -1), rule.values, strict=True):
            tested = own_process if value == OWN_PROCESS else value
            code.append(_instruction(_IF_EQUAL, tested, then=skipped))
        code.append(_instruction(_RETURN, _REFUSE))
    return [*code, _instruction(_RETURN, _ALLOW)]


def _instruction(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("<HBBI", code, then, otherwise, value)
