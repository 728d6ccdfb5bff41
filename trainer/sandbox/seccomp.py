"""Build and install the seccomp filter: only the calls of `syscalls.ALLOWED` pass.

The filter is a classic BPF program, <linux/filter.h>. It searches the number by halving, so a call
costs about nine comparisons. Kernels since 5.11 run it once per number when it is installed and
keep what it answers where no argument matters; there a short way through the program makes the
installation cheap.
"""

from __future__ import annotations

import ctypes
import errno
import platform
import struct
from collections.abc import Sequence
from functools import cache

from trainer.sandbox.syscalls import ALLOWED, RULES, SECCOMP, Null, Only, OwnProcess, Rule

_LOAD, _JUMP, _IF_EQUAL, _IF_AT_LEAST, _RETURN = 0x20, 0x05, 0x15, 0x35, 0x06
_ALLOW, _KILL = 0x7FFF0000, 0x80000000
_REFUSE = 0x00050000 | errno.ENOSYS
_NUMBER, _ARCHITECTURE, _ARGUMENTS = 0, 4, 16  # offsets in struct seccomp_data
_FARTHEST = 255  # a conditional jump has one byte
_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER = 22, 2

Code = list[bytes]


def install(machine: str, own_process: int) -> bool:
    """Bind this thread, and all that it starts, to the allowed calls for good.

    Every other call fails with ENOSYS. PR_SET_NO_NEW_PRIVS must be set before.

    Args:
        machine: as `platform.machine()` says it; a key of `SECCOMP`.
        own_process: the number of this process.

    Returns:
        whether the kernel took the filter.
    """
    code = program(machine, own_process)
    buffer = ctypes.create_string_buffer(code, len(code))
    described = struct.pack("<H6xQ", len(code) // 8, ctypes.addressof(buffer))
    libc = ctypes.CDLL(None, use_errno=True)
    return int(libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, described, 0, 0)) == 0


def program(machine: str, own_process: int) -> bytes:
    """Return the filter's instructions, 8 bytes each.

    Calls of another architecture end the process. The numbers of the x32 calls begin at 0x40000000;
    none of them is allowed, so they need no test of their own.
    """
    own = _equal_to(own_process)
    return b"".join(own if step == _OWN else step for step in _template(machine))


@cache
def _template(machine: str) -> Code:
    """Return the program with a mark where the number of the process belongs."""
    architecture, column = SECCOMP[machine]
    verdicts: dict[int, Code] = {}
    for name, numbers in ALLOWED.items():
        if (number := numbers[column]) is not None:
            verdicts[number] = _ruled(RULES.get(name, ()))
    head = [
        _instruction(_LOAD, _ARCHITECTURE),
        _instruction(_IF_EQUAL, architecture, then=1),
        _instruction(_RETURN, _KILL),
        _instruction(_LOAD, _NUMBER),
    ]
    return head + _search(_ranges(verdicts))


def _ranges(verdicts: dict[int, Code]) -> list[tuple[int, Code]]:
    """Return the first number of each range of equal verdicts, in order, from 0 to the last."""
    refused = [_instruction(_RETURN, _REFUSE)]
    found: list[tuple[int, Code]] = []
    for number in sorted({0, *verdicts, *(number + 1 for number in verdicts)}):
        verdict = verdicts.get(number, refused)
        if not found or found[-1][1] != verdict:
            found.append((number, verdict))
    return found


def _search(ranges: Sequence[tuple[int, Code]]) -> Code:
    """Return code that finds the range of the loaded number by halves and runs its verdict."""
    if len(ranges) == 1:
        return ranges[0][1]
    middle = len(ranges) // 2
    below, above = _search(ranges[:middle]), _search(ranges[middle:])
    first = ranges[middle][0]
    if len(below) <= _FARTHEST:
        return [_instruction(_IF_AT_LEAST, first, then=len(below)), *below, *above]
    return [
        _instruction(_IF_AT_LEAST, first, otherwise=1),
        _instruction(_JUMP, len(below)),
        *below,
        *above,
    ]


def _ruled(rules: Sequence[Rule]) -> Code:
    """Return code that allows a call where all rules hold."""
    code: Code = []
    for rule in rules:
        low = _ARGUMENTS + 8 * rule.argument
        match rule:
            case Only(values=values):
                last = len(values)
                tests = [_equal_to(value, last - i) for i, value in enumerate(values)]
                code += _unless(low, tests)
            case OwnProcess():
                code += _unless(low, [_OWN])
            case Null():
                code += _unless(low, [_equal_to(0)]) + _unless(low + 4, [_equal_to(0)])
    return [*code, _instruction(_RETURN, _ALLOW)]


def _unless(offset: int, tests: Code) -> Code:
    """Return code that refuses the call unless the 32 bits at this offset pass one of the tests."""
    return [_instruction(_LOAD, offset), *tests, _instruction(_RETURN, _REFUSE)]


def _equal_to(value: int, then: int = 1) -> bytes:
    return _instruction(_IF_EQUAL, value, then=then)


def _instruction(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
    return struct.pack("<HBBI", code, then, otherwise, value)


_OWN = b"own proc"  # in place of the instruction that compares with the process's own number

if platform.machine() in SECCOMP:
    _template(platform.machine())  # here, so that it is made once and not by every worker
