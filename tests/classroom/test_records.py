"""What a class's results are written as: nothing of a student acts, nothing that is to stay hidden is told, and the sums are right."""

import xml.etree.ElementTree as ElementTree

from tests.support.class_outputs import rows
from tests.support.class_results import (
    COUNTED,
    UNCOUNTED,
    assignment,
    outcome,
    result,
)
from trainer.classroom.records import AssignedChallenge
from trainer.classroom.summary import CheckRate, summarise
from trainer.export.junit import junit_xml


def test_checks_of_no_weight() -> None:
    """The samples above go by the same weights as an assignment without any of its own."""
    worth = {name for name, weight in AssignedChallenge("first").weights.items() if weight}
    assert set(COUNTED) <= worth
    assert not worth & set(UNCOUNTED)


def test_checks_are_counted_by_the_worst_case() -> None:
    """A check that failed in one case of two has failed, in every output."""
    one = result(
        "Ann",
        verdict="failed",
        outcomes=(outcome("runs", "passed", "a"), outcome("runs", "failed", "b", "no")),
        diagnosis=None,
    )
    assert rows([one])[0]["checks_passed"] == "0"
    assert summarise([one], assignment()).challenges[0].checks == (CheckRate("runs", 1, 1, 0),)
    assert ElementTree.fromstring(junit_xml([one])).get("failures") == "1"
