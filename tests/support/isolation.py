"""Helpers for tests of the isolation."""

from __future__ import annotations

import contextlib
import dataclasses
import struct
import sys
import time
from collections.abc import Callable, Iterator, Sequence

import pytest

from attn_drill.grading.grader import Grader
from attn_drill.model.challenge import Limits
from attn_drill.model.report import Report
from attn_drill.packs import pack_reader
from attn_drill.sandbox import isolation
from attn_drill.sandbox._system_calls import SECCOMP
from attn_drill.sandbox.isolation import Isolation, descendants
from attn_drill.worker.selftest import SelfTestResult
from tests.support.grading import report_of
from tests.support.paths import TINY_PACK

SUMS = pack_reader.find_challenge(TINY_PACK, "prefix-sum")


SOURCE = (
    "import os, sys, time, torch\n"
    "def prefix_sum(x, reverse=False):\n"
    "    {}\n"
    "    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)\n"
)


RIGHT = SOURCE.format("pass")


def grade(grader: Grader, body: str, *, seconds: float = 60.0, memory_mib: int = 1024) -> Report:
    """Grade a prefix sum that runs `body` first."""
    grader.workers.limits = Limits(seconds, memory_mib)
    return report_of(grader, SUMS, SOURCE.format(body), "prefix_sum.py", 5)


def message_of(report: Report) -> str:
    """Return the message of the first failed check, or ""."""
    failure = report.first_failure()
    return "" if failure is None else failure.message


@contextlib.contextmanager
def grader_by(how: Isolation | None = None) -> Iterator[Grader]:
    """Yield a new grader with the given isolation, by default the best one of this machine."""
    with Grader([pack_reader.built_in_pack(), TINY_PACK], isolation=how) as grader:
        yield grader


def selftest_by(how: Isolation) -> SelfTestResult:
    """Return the result of the self-test of a new grader with this isolation."""
    with grader_by(how) as grader:
        return grader.workers.selftest()


def family(grader: Grader) -> set[int]:
    """Return all descendants of the fork server."""
    return set(descendants(grader.workers._fork_server._pid))


SUBMITTED = {
    "right": RIGHT,
    "wrong": SOURCE.format("return x"),
    "raises": SOURCE.format("if reverse: raise ValueError('no')"),
    "random": SOURCE.format("print(torch.rand(3)); x = x + 0 * torch.randn_like(x)"),
    "no gradients": SOURCE.format("x = x.detach()"),
    "broken": "def prefix_sum(:",
    # torch runs more lines of Python to print a larger tensor. This is no loop of the submission.
    "prints": RIGHT
    + "\n\nplain = prefix_sum\n\n\n"
    + "def prefix_sum(x, reverse=False):\n    str(x)\n    return plain(x, reverse)\n",
    "nothing": "x = 1",
    "loops": SOURCE.format(
        "return torch.stack([sum(row[i] for row in [x.T]) for i in range(x.shape[-1])])"
    ),
}


def without_time(report: Report) -> Report:
    """Return the report without its time, and without the cases: `==` fails for their tensors."""
    return dataclasses.replace(report, elapsed_seconds=0.0, cases=())


linux = pytest.mark.skipif(
    sys.platform != "linux",
    reason="only Linux has Landlock, seccomp and /proc; on other systems only limits hold",
)
HIDDEN = [
    pack_reader.PACKAGE,
    pack_reader.built_in_pack() / "challenges",
    pack_reader.built_in_pack() / "solutions",
]
needs_bubblewrap = pytest.mark.skipif(
    not isolation.bubblewrap_works(),
    reason="bubblewrap is not installed here, or this user may not start it",
)
needs_kernel = pytest.mark.skipif(
    sys.platform != "linux" or not (isolation._has_landlock() and isolation.has_seccomp()),
    reason="this kernel has no Landlock, or no seccomp",
)


def wait_until(condition: Callable[[], bool], seconds: float = 60.0) -> None:
    """Return when `condition()` holds. Fail after `seconds`."""
    deadline = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < deadline, f"no result within {seconds:g} s"
        time.sleep(0.005)


ALLOW, REFUSE, KILL = 0x7FFF0000, 0x00050000 | 38, 0x80000000  # 38 is ENOSYS


OWN = 4321


MACHINES = ["x86_64", "aarch64"]


def verdict_on(
    code: bytes,
    machine: str,
    number: int,
    arguments: Sequence[int] = (),
    architecture: int | None = None,
) -> int:
    """Return the filter's verdict on one call.

    Raises:
        AssertionError: if the filter contains an unexpected instruction.
    """
    padded = [*arguments, *[0] * (6 - len(arguments))]
    architecture = SECCOMP[machine][0] if architecture is None else architecture
    data = struct.pack(
        "<IIQ6Q", number, architecture, 0, *(value & (1 << 64) - 1 for value in padded)
    )
    accumulator, position = 0, 0
    while True:
        kind, jump_if_true, jump_if_false, value = struct.unpack_from("<HBBI", code, 8 * position)
        position += 1
        match kind:
            case 0x20:  # BPF_LD | BPF_W | BPF_ABS
                assert value % 4 == 0
                accumulator = struct.unpack_from("<I", data, value)[0]
            case 0x05:  # BPF_JMP | BPF_JA
                position += value
            case 0x15:  # BPF_JMP | BPF_JEQ | BPF_K
                position += jump_if_true if accumulator == value else jump_if_false
            case 0x35:  # BPF_JMP | BPF_JGE | BPF_K
                position += jump_if_true if accumulator >= value else jump_if_false
            case 0x06:  # BPF_RET | BPF_K
                return int(value)
            case _:
                raise AssertionError(f"instruction {kind:#x}")
