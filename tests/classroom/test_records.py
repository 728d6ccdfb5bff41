"""Tests of the statuses of a result."""

import xml.etree.ElementTree as ElementTree

from attn_drill.classroom.summary import CheckRate, summarise
from attn_drill.export.junit import junit_xml
from tests.support.class_outputs import rows
from tests.support.class_results import assignment, make_gradebook, outcome, result


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
    assert summarise(make_gradebook([ann], assignment())).challenges[0].checks == (
        CheckRate("runs", 1, 1, 0),
    )
    assert ElementTree.fromstring(junit_xml([ann])).get("failures") == "1"
