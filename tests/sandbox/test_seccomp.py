"""The allow-list of system calls, in a simulation of the filter's program and in a confined
process.
"""

from __future__ import annotations

import struct
from itertools import chain

import pytest

from tests.support.syscalls import ALLOW, KILL, OWN, REFUSE, answer
from trainer.sandbox.syscalls import ALLOWED, SECCOMP


def test_exactly_the_listed_numbers_pass(machine: str, code: bytes) -> None:
    """The listed numbers pass with lawful arguments; every other number is answered ENOSYS."""
    column = SECCOMP[machine][1]
    passing = {
        numbers[column]: lawful(name)
        for name, numbers in ALLOWED.items()
        if numbers[column] is not None
    }
    for number in chain(
        range(1024), range(0x40000000, 0x40000400), (0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
    ):
        expected = ALLOW if number in passing else REFUSE
        assert answer(code, machine, number, passing.get(number, ())) == expected, number


@pytest.mark.parametrize(
    "architecture", [0x40000003, 0x40000028, 0xC000003E, 0xC00000B7, 0x80000015, 0]
)
def test_calls_of_another_architecture_end_the_process(
    machine: str, code: bytes, architecture: int
) -> None:
    """The numbers of a 32-bit program mean other calls; they are not looked up in this table."""
    for number in range(0, 512):
        found = answer(code, machine, number, architecture=architecture)
        assert (found == KILL) == (architecture != SECCOMP[machine][0])


def lawful(name: str) -> list[int]:
    """Arguments that the rules on a call allow."""
    return {
        "clone": [0x003D0F00],
        "kill": [OWN, 6],
        "tgkill": [OWN, OWN, 6],
        "fcntl": [3, 1],
        "ioctl": [3, 0x5401],
        "prctl": [15],
        "arch_prctl": [0x1021],
        "prlimit64": [0, 7, 0, 1 << 40],
    }.get(name, [])


def test_the_program_fits(machine: str, code: bytes) -> None:
    """The kernel takes 4096 instructions; a call is decided in a few steps, not in hundreds."""
    assert len(code) // 8 < 4096
    assert all(steps(code, number) <= 4 + 10 + 12 for number in range(1024))


def steps(code: bytes, number: int) -> int:
    """How many instructions a call with no arguments takes on its way."""
    loaded, place, taken = 0, 0, 0
    while True:
        kind, then, otherwise, value = struct.unpack_from("<HBBI", code, 8 * place)
        place, taken = place + 1, taken + 1
        match kind:
            case 0x20:
                loaded = {0: number, 4: struct.unpack_from("<I", code, 12)[0]}.get(value, 0)
            case 0x05:
                place += value
            case 0x15 | 0x35:
                place += (
                    then if (loaded == value if kind == 0x15 else loaded >= value) else otherwise
                )
            case 0x06:
                return taken
