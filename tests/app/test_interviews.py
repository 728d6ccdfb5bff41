"""The plan of a mock interview."""

from pathlib import Path

import pytest

from trainer.app.interviews import plan_interview
from trainer.app.open_packs import KnownPacks
from trainer.model.errors import DrillError
from trainer.practice.journal import Journal

KNOWN = KnownPacks().catalogue()


def test_plan_has_the_problems_and_the_questions(home: Path) -> None:
    """The seed repeats it."""
    first, second = (plan_interview(Journal(home), KNOWN, 45, "gqa", 3, 0) for _ in range(2))
    assert first == second
    assert "gqa" in [stage.challenge for stage in first.stages if stage.role == "main problem"]
    assert first.questions
    assert first.minutes == 45


@pytest.mark.parametrize(
    ("minutes", "bugs", "says"),
    [(4, 0, "--minutes is 4; it must be 5 to 240"), (30, 6, "--bugs is 6; it must be 1 to 5")],
)
def test_numbers_have_limits(minutes: int, bugs: int, says: str, home: Path) -> None:
    """The message has the number and the limits."""
    with pytest.raises(DrillError, match=says):
        plan_interview(Journal(home), KNOWN, minutes, None, 1, bugs)
