"""The seccomp program, tested by a simulation of the instructions."""

from __future__ import annotations

import struct
from itertools import chain

import pytest

from attn_drill.sandbox._system_calls import ALLOWED, RULES, SECCOMP
from tests.support.isolation import ALLOW, KILL, OWN, REFUSE, verdict_on


def test_only_the_listed_call_numbers_pass(machine: str, code: bytes) -> None:
    """A listed number passes with permitted arguments. Every other number fails with ENOSYS."""
    column = SECCOMP[machine][1]
    passing = {
        numbers[column]: permitted_arguments(name)
        for name, numbers in ALLOWED.items()
        if numbers[column] is not None
    }
    for number in chain(
        range(1024), range(0x40000000, 0x40000400), (0x7FFFFFFF, 0x80000000, 0xFFFFFFFF)
    ):
        expected = ALLOW if number in passing else REFUSE
        assert verdict_on(code, machine, number, passing.get(number, ())) == expected, number


@pytest.mark.parametrize(
    "architecture", [0x40000003, 0x40000028, 0xC000003E, 0xC00000B7, 0x80000015, 0]
)
def test_calls_of_another_architecture_kill_the_process(
    machine: str, code: bytes, architecture: int
) -> None:
    """In a 32-bit program the same numbers mean other calls, so this table must not be used."""
    for number in range(0, 512):
        verdict = verdict_on(code, machine, number, architecture=architecture)
        assert (verdict == KILL) == (architecture != SECCOMP[machine][0])


def permitted_arguments(name: str) -> list[int]:
    """Return arguments that the rules on a call allow."""
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


def test_the_program_fits_into_the_kernel(machine: str, code: bytes) -> None:
    """The kernel accepts 4096 instructions."""
    assert len(code) // 8 < 4096


def test_calls_with_tested_arguments_come_first(machine: str, code: bytes) -> None:
    """The kernel keeps the verdict on all other calls, so only these calls run the program."""
    column = SECCOMP[machine][1]
    tested = [ALLOWED[name][column] for name in RULES if ALLOWED[name][column] is not None]
    assert tested
    assert all(steps(code, number) < 100 for number in tested)


def steps(code: bytes, number: int) -> int:
    """Return how many instructions run for a call without arguments."""
    accumulator, position, count = 0, 0, 0
    while True:
        kind, jump_if_true, jump_if_false, value = struct.unpack_from("<HBBI", code, 8 * position)
        position, count = position + 1, count + 1
        match kind:
            case 0x20:
                accumulator = {0: number, 4: struct.unpack_from("<I", code, 12)[0]}.get(value, 0)
            case 0x05:
                position += value
            case 0x15 | 0x35:
                holds = accumulator == value if kind == 0x15 else accumulator >= value
                position += jump_if_true if holds else jump_if_false
            case 0x06:
                return count
