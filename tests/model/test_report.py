"""Each check refuses what it alone is for, and says so; tables of refused and accepted submissions of gqa."""

from trainer.model.checks import CHECK_ORDER
from trainer.model.report import Outcome, Report


def test_a_check_with_a_part_that_was_not_looked_at_is_skipped() -> None:
    """A failed part counts most, then a skipped part; the checks come in their order."""
    said = [("runs", "failed"), ("shapes", "passed"), ("shapes", "skipped"), ("loads", "passed")]
    outcomes = tuple(Outcome(check, status) for check, status in said)  # type: ignore[arg-type]
    statuses = Report("gqa", "gqa.py", 1, "error", outcomes).statuses()
    assert list(statuses.items()) == [
        ("loads", "passed"),
        ("runs", "failed"),
        ("shapes", "skipped"),
    ]


def test_report_orders_checks_and_finds_the_first_failure() -> None:
    """One failed case fails its check; the earliest check is explained first."""
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
