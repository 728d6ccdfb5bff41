"""Fixtures of the tests in `tests/worker`."""

import pytest

from attn_drill.grading.grader import Grader
from attn_drill.model.challenge import Limits


@pytest.fixture
def hasty(grader: Grader, monkeypatch: pytest.MonkeyPatch) -> Grader:
    """Return the grader with a time limit of one second."""
    monkeypatch.setattr(grader.workers, "limits", Limits(seconds=1.0, memory_mib=512))
    return grader
