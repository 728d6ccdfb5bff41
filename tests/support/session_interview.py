"""A mock interview of two problems, for tests of its screens."""

from dataclasses import asdict
from pathlib import Path

from attn_drill.exercises.interview import InterviewPlan, Stage
from attn_drill.packs import pack_reader
from attn_drill.packs.question_bank import FollowUp
from attn_drill.practice.facts import InterviewBegan
from attn_drill.practice.journal import Journal
from attn_drill.session.interviews import Interview
from tests.support.session import Clock

CHALLENGES = {
    challenge.id: challenge for challenge in pack_reader.read_pack(pack_reader.built_in_pack())
}
SIZES = [(120, 40), (80, 24), (50, 20), (40, 10)]


def interview(tmp_path: Path, home: Path, question_count: int = 1) -> Interview:
    """Return an interview of two problems, before its first page."""
    stages = (Stage("sdpa", "warm-up", 600.0), Stage("gqa", "main problem", 1000.0))
    questions = tuple(
        FollowUp("gqa", number, f"Why is number {number} so?", f"Because of {number}.")
        for number in range(1, question_count + 1)
    )
    items = tuple(question.item for question in questions)
    plan = InterviewPlan(30, 1, stages, items, str(tmp_path / "stubs"))
    journal = Journal(home)
    interview_id = journal.add(InterviewBegan("", 1.0, plan=asdict(plan)))
    return Interview(
        interview_id, 1.0, plan, questions, CHALLENGES, journal, wall=lambda: 2.0, clock=Clock()
    )
