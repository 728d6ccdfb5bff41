"""Helpers of the tests of classroom."""

import time
from collections.abc import Callable
from dataclasses import replace

import msgspec

from tests.support.paths import TINY_PACK
from trainer.classroom.assignment import plain_assignment
from trainer.classroom.grading_jobs import (
    GradingPlan,
    plan_of,
)
from trainer.classroom.records import StudentResult, StudentSubmission
from trainer.model.submission import Submission as SubmittedFile
from trainer.packs import pack_reader
from trainer.packs.digest import content_digest
from trainer.server.messages import (
    Grade,
    Refused,
    packed,
)

TINY = pack_reader.find_challenge(TINY_PACK, "prefix-sum")


RIGHT_SUM = pack_reader.solution(TINY)


WRONG_SUM = "import torch\ndef prefix_sum(x, reverse=False):\n    return x.cumsum(-1) * 2\n"


BARE = StudentResult(student="ana", challenge="prefix-sum", file="ana.py", score=0.0, task="t")


def plan(seed: int = 5, **more: bool) -> GradingPlan:
    """How the tests' classes are graded."""
    return plan_of(plain_assignment("prefix-sum"), [TINY], [TINY_PACK], seed, **more)


def submission(student: str, source: str | None = RIGHT_SUM, **more: object) -> StudentSubmission:
    """One file of a student."""
    return replace(StudentSubmission(student, "prefix-sum", f"{student}.py", source), **more)  # type: ignore[arg-type]


PACKS = (str(TINY_PACK),)


def task(source: str = RIGHT_SUM, **more: object) -> Grade:
    """Return a request to grade a student's file."""
    made = Grade(
        "prefix-sum",
        SubmittedFile("ana.py", source),
        5,
        is_shared=True,
        content=content_digest(TINY),
        isolation="full",
        seconds=20.0,
        memory_mib=1024,
    )
    return msgspec.structs.replace(made, **more)


def answered(source: str) -> bytes:
    """What a stand-in for a station says: the file's own text as its refusal."""
    return packed(Refused(0, source))


def soon(condition: Callable[[], object], seconds: float = 60.0) -> bool:
    """Whether it comes true before long."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False
