"""The cases that a check must look at before it can pass."""

import re

from attn_drill.grading.comparison import Comparison
from attn_drill.grading.grader import Grader
from attn_drill.grading.judge import CHECKS
from attn_drill.worker.worker_client import WorkerResult
from tests.support.grading import BUGS, GQA, failed_outcomes, grade, passed_checks

ROWS = {check.name: check for check in CHECKS}


def test_check_passes_only_if_all_its_cases_ran(grader: Grader) -> None:
    """If every case with a mask raises, only the checks without masks can pass."""
    report = grade(grader, BUGS["a mask raises"])
    expected = {"loads", "interface", "parameters", "values", "defaults", "bad sizes"}
    assert passed_checks(report) == expected
    assert {outcome.check for outcome in failed_outcomes(report)} == {"runs"}
    reasons = {
        outcome.check: outcome.message for outcome in report.outcomes if outcome.status == "skipped"
    }
    assert re.search(r"^\d+ of \d+ cases did not run", reasons["masks"])
    assert re.search(r"^\d+ of \d+ cases did not run", reasons["vectorised"])
    assert report.verdict == "error"


def test_later_check_cannot_pass_on_wrong_cases(grader: Grader) -> None:
    """Gradients are compared only in cases with right values. The other cases are missing."""
    report = grade(grader, ("if mask is not None:", "if mask is not None and mask.dim() != 2:"))
    assert report.statuses()["masks"] == "failed"
    assert report.statuses()["gradients"] == "skipped"
    messages = [outcome.message for outcome in report.outcomes if outcome.check == "gradients"]
    assert any("no right output" in message for message in messages), messages


def test_values_and_masks_look_at_separate_cases(grader: Grader) -> None:
    """No case belongs to both checks, and cases with dropout belong to neither."""
    case_set = grader.case_set(GQA, 5)
    comparison = Comparison(case_set, WorkerResult("died"))
    values, masks = ROWS["values"].cases(comparison), ROWS["masks"].cases(comparison)
    assert values
    assert masks
    assert not values & masks
    with_dropout = {index for index, case in enumerate(case_set.cases) if case.dropout is not None}
    assert with_dropout
    assert not with_dropout & (values | masks)
    assert ROWS["runs"].cases(comparison) == set(range(len(case_set.cases)))


def test_single_case_has_fewer_due_checks(grader: Grader) -> None:
    """With one case, checks on the whole file and on pairs of cases are not due."""
    case_set = grader.case_set(GQA, 5)
    whole = Comparison(case_set, WorkerResult("died"))
    index = min(ROWS["values"].cases(whole))
    single = Comparison(case_set, WorkerResult("died"), only=index)
    assert ROWS["runs"].cases(single) == {index}
    for check in ("masks", "vectorised", "bad sizes"):
        assert ROWS[check].is_due(whole)
        assert not ROWS[check].is_due(single)
    assert ROWS["values"].is_due(single)
