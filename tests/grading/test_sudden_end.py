"""The worker's life as the grader sees it: replies, deaths, hangs, floods, garbage."""

import pytest

from tests.support.running import grade_prefix_sum
from trainer.grading.grader import Grader
from trainer.worker.forkserver_client import Limits


@pytest.fixture
def hasty(grader: Grader, monkeypatch: pytest.MonkeyPatch) -> Grader:
    """A grader whose patience ends after a second."""
    monkeypatch.setattr(grader.workers, "limits", Limits(seconds=1.0, memory_bytes=512 << 20))
    return grader


def test_hang_at_import(hasty: Grader) -> None:
    """A file that never ends to load is named as such, with the line."""
    failure = grade_prefix_sum(hasty, "x = 1\nwhile True:\n    x += 1\n").first_failure()
    assert failure is not None
    assert failure.check == "loads"
    assert "while the file was imported" in failure.message
    assert failure.frames[-1].line in (2, 3)
