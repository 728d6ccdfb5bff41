"""The statuses and the first failure of a report."""

from dataclasses import replace

from attn_drill.model.checks import CHECK_ORDER
from attn_drill.model.report import Diagnosis, Outcome, Report


def test_check_with_a_skipped_outcome_is_skipped() -> None:
    """A failed outcome counts most, then a skipped outcome. The checks keep their order."""
    outcomes = (
        Outcome("runs", "failed"),
        Outcome("shapes", "passed"),
        Outcome("shapes", "skipped"),
        Outcome("loads", "passed"),
    )
    statuses = Report("gqa", "gqa.py", 1, "error", outcomes).statuses()
    assert list(statuses.items()) == [
        ("loads", "passed"),
        ("runs", "failed"),
        ("shapes", "skipped"),
    ]


def test_first_failure_is_that_of_the_earliest_check() -> None:
    """One failed case fails its check, and the report explains the earliest failed check first."""
    outcomes = (
        Outcome("values", "failed", "b", "two", 2),
        Outcome("shapes", "passed"),
        Outcome("values", "passed"),
        Outcome("dtype", "failed", "a"),
    )
    report = Report("gqa", "f.py", 1, "failed", outcomes)
    assert report.statuses() == {"shapes": "passed", "dtype": "failed", "values": "failed"}
    assert report.first_failure() is outcomes[3]
    assert list(report.statuses()) == [name for name in CHECK_ORDER if name in report.statuses()]


def test_case_of_the_diagnosis_is_explained() -> None:
    """It must be a failed case of the first failed check, so that line and sizes agree."""
    outcomes = (
        Outcome("values", "failed", "", "a", 1),
        Outcome("values", "passed", "", "b", 2),
        Outcome("values", "failed", "", "c", 3),
        Outcome("masks", "failed", "", "d", 4),
    )
    report = Report("gqa", "f.py", 1, "failed", outcomes)
    for case, explained in ((None, 0), (1, 0), (2, 0), (3, 2), (4, 0), (99, 0)):
        diagnosed = replace(report, diagnosis=Diagnosis(case=case))
        assert diagnosed.first_failure() is outcomes[explained], case


def test_forbidden_call_is_explained_before_other_failures() -> None:
    """With verdict "not-allowed", other failures may follow from the forbidden call."""
    outcomes = (Outcome("values", "failed"), Outcome("from scratch", "failed"))
    assert Report("gqa", "f.py", 1, "failed", outcomes).first_failure() is outcomes[0]
    assert Report("gqa", "f.py", 1, "not-allowed", outcomes).first_failure() is outcomes[1]


def test_report_without_failures_has_no_first_failure() -> None:
    """A pass has nothing to explain."""
    report = Report("gqa", "f.py", 1, "passed", (Outcome("loads", "passed"),))
    assert report.first_failure() is None
