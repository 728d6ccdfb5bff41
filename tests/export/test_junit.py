"""What a class's results are written as: nothing of a student acts, nothing that is to stay hidden is told, and the sums are right."""

import xml.etree.ElementTree as ElementTree

import pytest

from tests.support.class_outputs import EVERYONE, FAILED
from tests.support.class_results import (
    SETTLE,
    unsettled,
)
from trainer.export.junit import junit_xml
from trainer.report.visible import visible


def test_several_submissions_of_one_name_are_an_error_for_junit() -> None:
    """The suite holds one case with the sentence."""
    (suite,) = ElementTree.fromstring(junit_xml([unsettled()]))
    assert (suite.get("name"), suite.get("errors"), suite.get("failures")) == (
        "bob: first",
        "1",
        "0",
    )
    error = suite.find("testcase/error")
    assert error is not None
    assert error.get("message") == SETTLE


def test_junit_counts_what_it_holds() -> None:
    """A suite a submission, a case a check; the numbers are those of the elements."""
    root = ElementTree.fromstring(junit_xml(EVERYONE).encode())
    suites = root.findall("testsuite")
    assert [one.get("name") for one in suites] == [
        visible(f"{one.student}: first") for one in EVERYONE
    ]
    assert float(root.get("time", "")) == pytest.approx(
        1.25 * sum(result.verdict is not None for result in EVERYONE)
    )
    for element in (root, *suites):
        for kind, tag in (
            ("tests", "testcase"),
            ("failures", "failure"),
            ("errors", "error"),
            ("skipped", "skipped"),
        ):
            assert int(element.get(kind, "-1")) == len(list(element.iter(tag)))
    for suite, one in zip(suites, EVERYONE, strict=True):
        assert float(suite.get("time", "-1")) == (0 if one.verdict is None else 1.25)
        assert (suite.get("failures") == "0" and suite.get("errors") == "0") == (
            one.verdict == "passed"
        )
        if one.verdict is not None:
            assert [case.get("name") for case in suite.findall("testcase")] == list(one.statuses())
            assert suite.findtext("system-out") == visible(one.text, lines=True)


def test_a_failure_says_which_cases_and_what() -> None:
    """The first message is the attribute, all of them are the text; a skipped check says what it needed."""
    suite = ElementTree.fromstring(junit_xml([FAILED]))[0]
    cases = {one.get("name"): one for one in suite.findall("testcase")}
    failure = cases["values"].find("failure")
    assert failure is not None
    assert (
        failure.get("message")
        == "padding mask: 300 of 672 values of out differ (45%); the inputs are SECRET-INPUT"
    )
    assert (failure.text or "").splitlines()[1].startswith("causal: ")
    skipped = cases["gradients"].find("skipped")
    assert skipped is not None
    assert skipped.get("message") == "needs values"
    assert not list(cases["shapes"])
