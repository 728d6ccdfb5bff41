"""Each check refuses what it alone is for, and says so; tables of refused and accepted submissions of gqa."""

import re

from tests.support.checks import BUGS, grade
from trainer.grading.grader import Grader


def test_a_check_passes_only_if_all_its_cases_ran(grader: Grader) -> None:
    """A raise in every case with a mask leaves what needs no mask."""
    report = grade(grader, BUGS["a mask raises"])
    statuses = report.statuses()
    passed = {name for name, status in statuses.items() if status == "passed"}
    assert passed == {"loads", "interface", "parameters", "values", "bad sizes"}
    assert {name for name, status in statuses.items() if status == "failed"} == {"runs"}
    said = {one.check: one.message for one in report.outcomes if one.status == "skipped"}
    assert re.search(r"^\d+ of \d+ cases did not run", said["masks"])
    assert re.search(r"^\d+ of \d+ cases did not run", said["vectorised"])
    assert report.verdict == "error"


def test_wrong_cases_are_no_reason_for_a_later_check_to_pass(grader: Grader) -> None:
    """Gradients are compared only in cases with right values; the others are missing."""
    report = grade(grader, ("if mask is not None:", "if mask is not None and mask.dim() != 2:"))
    assert report.statuses()["masks"] == "failed"
    assert report.statuses()["gradients"] == "skipped"
    said = [one.message for one in report.outcomes if one.check == "gradients"]
    assert any("no right output" in message for message in said), said
