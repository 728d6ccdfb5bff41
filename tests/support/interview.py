"""A plan and events of an interview."""

from trainer.interview.plan import (
    InterviewPlan,
    Stage,
)
from trainer.interview.state import (
    Event,
)
from trainer.packs import pack_reader
from trainer.packs.follow_up import FollowUp

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

FAILED = {"verdict": "failed", "passed": 9, "total": 12, "failed": ["values"]}

PASSED = {"verdict": "passed", "passed": 12, "total": 12, "failed": []}

EVENTS: list[Event] = [
    (1.0, "begun", {"stage": 0, "seconds": 0.0}),
    (2.0, "attempt", {"stage": 0, "seconds": 50.0, **FAILED}),
    (3.0, "hint", {"stage": 0, "seconds": 60.0, "level": 1}),
    (4.0, "why", {"stage": 0, "seconds": 61.0}),
    (5.0, "attempt", {"stage": 0, "seconds": 100.0, **PASSED}),
    (6.0, "left", {"stage": 0, "seconds": 110.0}),
    (
        7.0,
        "ended",
        {"stage": 0, "seconds": 110.0, "code": "x", "note": "", "reference_seen": False},
    ),
    (8.0, "begun", {"stage": 1, "seconds": 0.0}),
    (9.0, "attempt", {"stage": 1, "seconds": 900.0, **FAILED, "count": 3}),
    (10.0, "of a later version", {"stage": 1, "what": "ever"}),
    (
        11.0,
        "ended",
        {"stage": 1, "seconds": 910.0, "code": None, "note": "gone", "reference_seen": True},
    ),
    (12.0, "answer", {"seconds": 20.0, "item": "follow-up:mha:1", "rating": 3}),
    (13.0, "answer", {"seconds": 50.0, "item": "follow-up:mha:2", "rating": 1}),
    (14.0, "finished", {}),
]
