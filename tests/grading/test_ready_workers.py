"""What acts on a whole fork server: folders of bounded size, looking after workers, one request for many, bubblewrap; and that nothing is left behind."""

from __future__ import annotations

import pytest

from tests.support.grading import report_of
from tests.support.isolation import RIGHT, SUMS, grader_by
from trainer.grading.case_set import CaseSet


def test_held_is_really_held(monkeypatch: pytest.MonkeyPatch) -> None:
    """The request of a held exam is sent once; that of another exam each time, and it is graded on its own cases."""
    with grader_by() as grader:
        sent, request = list[int](), CaseSet.request
        monkeypatch.setattr(
            CaseSet, "request", lambda *given: sent.append(given[0].seed) or request(*given)
        )
        grader.workers.preload(grader.case_set(SUMS, 11))
        grader.workers.preload(grader.case_set(SUMS, 11))
        assert all(report_of(grader, SUMS, RIGHT, "a.py", 11).verdict == "passed" for _ in range(3))
        assert sent == [11]
        assert report_of(grader, SUMS, RIGHT, "a.py", 12).seed == 12
        grader.workers.preload(grader.case_set(SUMS, 12))
        assert report_of(grader, SUMS, RIGHT, "a.py", 12).verdict == "passed"
        assert report_of(grader, SUMS, RIGHT, "a.py", 11).verdict == "passed"
        assert sent == [11, 12, 12, 11]
