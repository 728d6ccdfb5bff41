"""Words for the results of a class."""

from typing import get_args

from attn_drill.model.checks import Verdict
from attn_drill.report.class_text import VERDICTS, checks_passed, likely
from tests.support.classroom import INVERTED, NO_SCALE, result


def test_every_verdict_has_a_symbol_and_a_word() -> None:
    """None is the verdict of a submission that was not graded."""
    assert set(VERDICTS) == {*get_args(Verdict), None}
    symbols, words = zip(*VERDICTS.values(), strict=True)
    assert len(set(symbols)) == len(set(words)) == len(VERDICTS)


def test_ids_of_the_likely_mistakes_are_joined() -> None:
    """A result without a mistake has no id."""
    assert likely(result("ann", verdict="failed", failed=["values"])) == ""
    both = result("bob", verdict="failed", failed=["values"], mistakes=[NO_SCALE, INVERTED])
    assert likely(both) == "no-scale+mask-inverted"


def test_only_passed_checks_are_counted() -> None:
    """A skipped check is due and has not passed."""
    passed, due = checks_passed(result("ann"))
    assert passed == due
    some = result("bob", verdict="failed", failed=["values"], skipped=["masks", "gradients"])
    assert checks_passed(some) == (due - 3, due)
