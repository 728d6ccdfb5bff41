"""A plan and events of an interview."""

from typing import Any

import msgspec

from attn_drill.exercises.interview import InterviewPlan, Stage
from attn_drill.packs import pack_reader
from attn_drill.packs.question_bank import FollowUp
from attn_drill.practice.facts import (
    InterviewEvent,
    InterviewFinished,
    MistakeShown,
    QuestionAnswered,
    StageAttempted,
    StageBegan,
    StageEnded,
    StageHinted,
    StageLeft,
    StageReplaced,
)

BUILT_IN = pack_reader.built_in_pack()

CHALLENGES = pack_reader.read_pack(BUILT_IN)

BY_ID = {challenge.id: challenge for challenge in CHALLENGES}

# Made up, so that the tests do not depend on the answers of the pack.
QUESTIONS = tuple(
    FollowUp(challenge.id, number, f"Question {number} on {challenge.id}?", "So.")
    for challenge in CHALLENGES
    for number in (1, 2, 3, 4)
)

PLAN = InterviewPlan(
    20,
    1,
    (Stage("sdpa", "warm-up", 300.0), Stage("mha", "main problem", 600.0)),
    ("follow-up:mha:1", "follow-up:mha:2"),
)


def attempted(
    challenge: str, at: float, seconds: float, *, passed: bool = False, **changes: Any
) -> StageAttempted:
    """Return the event of an attempt, by default of a failed one."""
    result = StageAttempted(
        challenge,
        at,
        interview="i",
        seconds=seconds,
        verdict="passed" if passed else "failed",
        passed=12 if passed else 9,
        total=12,
        failed=() if passed else ("values",),
    )
    return msgspec.structs.replace(result, **changes)


FIRST, SECOND = {"subject": "sdpa", "interview": "i"}, {"subject": "mha", "interview": "i"}
END: dict[str, Any] = {"code": None, "note": "", "reference_seen": False}

EVENTS: tuple[InterviewEvent, ...] = (
    StageBegan(**FIRST, at=1.0, seconds=0.0),
    attempted("sdpa", 2.0, 50.0),
    StageHinted(**FIRST, at=3.0, seconds=60.0, level=1),
    MistakeShown(**FIRST, at=4.0, seconds=61.0),
    attempted("sdpa", 5.0, 100.0, passed=True),
    StageLeft(**FIRST, at=6.0, seconds=110.0),
    StageEnded(**FIRST, at=7.0, seconds=110.0, **{**END, "code": "x"}),
    StageBegan(**SECOND, at=8.0, seconds=0.0),
    attempted("mha", 9.0, 900.0, count=3),
    attempted("mha", 9.5, 905.0),
    StageReplaced(**SECOND, at=9.6, seconds=906.0),
    StageEnded(**SECOND, at=11.0, seconds=910.0, **{**END, "note": "gone", "reference_seen": True}),
    QuestionAnswered("follow-up:mha:1", 12.0, interview="i", seconds=20.0, rating=3),
    QuestionAnswered("follow-up:mha:2", 13.0, interview="i", seconds=50.0, rating=1),
    InterviewFinished("", 14.0, interview="i"),
)
