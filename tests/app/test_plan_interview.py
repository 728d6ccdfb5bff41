"""The plan of a mock interview."""

from pathlib import Path

from trainer.app.open_packs import KnownPacks
from trainer.app.plan_interview import plan_interview
from trainer.practice.journal import Journal

KNOWN = KnownPacks().catalogue()


def test_plan_has_the_problems_and_the_questions(home: Path) -> None:
    """The seed repeats it."""
    first, second = (plan_interview(Journal(home), KNOWN, 45, "gqa", 3, 0) for _ in range(2))
    assert first == second
    assert "gqa" in [stage.challenge for stage in first.stages if stage.role == "main problem"]
    assert first.questions
    assert first.minutes == 45
