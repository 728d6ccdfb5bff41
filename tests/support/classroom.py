"""Helpers for the tests of the grading of a class."""

import time
from collections.abc import Callable
from dataclasses import replace

import msgspec

from attn_drill.classroom.assignment import plain_assignment
from attn_drill.classroom.grading_jobs import GradingPlan, plan_of
from attn_drill.classroom.records import StudentResult, StudentSubmission
from attn_drill.model.challenge import Submission as SubmittedFile
from attn_drill.packs import pack_reader
from attn_drill.packs.pack_reader import content_digest
from attn_drill.server.messages import Grade, Refused, packed
from tests.support.paths import TINY_PACK

PACKS = (str(TINY_PACK),)
TINY = pack_reader.find_challenge(TINY_PACK, "prefix-sum")
RIGHT_SUM = pack_reader.solution(TINY)
WRONG_SUM = "import torch\ndef prefix_sum(x, reverse=False):\n    return x.cumsum(-1) * 2\n"
BARE = StudentResult(student="ana", challenge="prefix-sum", file="ana.py", score=0.0, task="t")


def plan(seed: int = 5) -> GradingPlan:
    """Return the plan with which the tests grade a class."""
    return plan_of(plain_assignment("prefix-sum"), [TINY], [TINY_PACK], seed)


def submission(student: str, source: str | None = RIGHT_SUM, **more: object) -> StudentSubmission:
    """Return the submission of a student."""
    plain = StudentSubmission(student, "prefix-sum", f"{student}.py", source)
    return replace(plain, **more)  # type: ignore[arg-type]


def task(source: str = RIGHT_SUM, **more: object) -> Grade:
    """Return a request to grade a student's file."""
    request = Grade(
        "prefix-sum",
        SubmittedFile("ana.py", source),
        5,
        is_shared=True,
        content=content_digest(TINY),
        needs_isolation=True,
        seconds=20.0,
        memory_mib=1024,
    )
    return msgspec.structs.replace(request, **more)


def answered(source: str) -> bytes:
    """Return the reply of a fake grading server: a refusal with the text of the file."""
    return packed(Refused(0, source))


def soon(condition: Callable[[], object], seconds: float = 60.0) -> bool:
    """Return whether a condition becomes true before the time is over."""
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if condition():
            return True
        time.sleep(0.02)
    return False
