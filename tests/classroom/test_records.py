"""Tests of the default weights of an assignment, and of the statuses of a result."""

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


def test_made_up_class_has_the_default_weights() -> None:
    """The made-up results of `class_results` count the same checks as an assignment by default."""
    counted = {name for name, weight in AssignedChallenge("first").weights.items() if weight}
    assert set(COUNTED) <= counted
    assert not counted & set(UNCOUNTED)


def test_check_fails_if_it_fails_in_one_case() -> None:
    """A check that failed in one of two cases failed in every output."""
    ann = result(
        "Ann",
        verdict="failed",
        outcomes=(outcome("runs", "passed", "a"), outcome("runs", "failed", "b", "no")),
        diagnosis=None,
    )
    assert ann.statuses() == {"runs": "failed"}
    assert rows([ann])[0]["checks_passed"] == "0"
    assert summarise([ann], assignment()).challenges[0].checks == (CheckRate("runs", 1, 1, 0),)
    assert ElementTree.fromstring(junit_xml([ann])).get("failures") == "1"
