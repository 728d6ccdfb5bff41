"""Helpers for tests that grade with a chosen isolation."""

from __future__ import annotations

import contextlib
import dataclasses
from collections.abc import Iterator

from attn_drill.grading.grader import Grader
from attn_drill.model.challenge import Limits
from attn_drill.model.report import Report
from attn_drill.packs import pack_reader
from attn_drill.sandbox.isolation import Isolation, descendants
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
