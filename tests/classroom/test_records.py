"""Tests of the values of a class that are computed from others."""

from attn_drill.classroom.records import Lateness, StudentResult, StudentSubmission
from tests.support.classroom import grade_of, outcome, result


def test_line_is_that_of_the_diagnosis_otherwise_of_the_first_failure() -> None:
    """Without a report there is none."""
    failure = outcome("runs", "failed", "a", "no", line=7)
    assert result("Ann", verdict="failed", failed=("values",)).line == 34
    assert result("Ann", verdict="error", outcomes=(failure,), diagnosis=None).line == 7
    assert result("Ann").line is None
    assert StudentResult(student="Ann", challenge="first", file="").line is None


def test_time_is_unknown_only_if_it_matters() -> None:
    """There must be a due time, a file that can be read, and no mark of the system."""
    due = Lateness(due=1e9)
    assert grade_of(result("Ann"), lateness=due).has_unknown_time
    assert not grade_of(result("Ann"), lateness=Lateness()).has_unknown_time
    assert not grade_of(result("Ann"), "It is empty.", lateness=due).has_unknown_time
    assert not grade_of(result("Ann"), lateness=Lateness(True, due=1e9)).has_unknown_time
    marked = StudentSubmission("Ann", "first", "f.py", None, has_late_marks=True)
    assert not grade_of(result("Ann"), lateness=due, submission=marked).has_unknown_time
