"""Build and install the seccomp filter: only the system calls of `syscalls.ALLOWED` pass.

The filter is a classic BPF program, <linux/filter.h>. It compares the call number with each allowed
number. Kernels since 5.11 run the program once for each number when it is installed, and keep the
verdict if it does not depend on an argument. So only the calls whose arguments are tested take
time, and these come first.
"""

from __future__ import annotations

import ctypes
import errno
import struct

from attn_drill.sandbox.syscalls import ALLOWED, OWN_PROCESS, RULES, SECCOMP

_LOAD, _IF_EQUAL, _RETURN = 0x20, 0x15, 0x06
_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_REFUSE = 0x00050000 | errno.ENOSYS
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2


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
    libc = ctypes.CDLL(None, use_errno=True)
    return int(libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, sock_fprog, 0, 0)) == 0


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
