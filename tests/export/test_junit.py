"""Tests of the results of a class as JUnit XML."""

import xml.etree.ElementTree as ElementTree

import pytest

from attn_drill.export.writers import junit_xml
from attn_drill.report.words import visible
from tests.support import classroom
from tests.support.classroom import EVERYONE, FAILED, SETTLE, ungraded


def test_several_submissions_of_the_same_name_are_an_error() -> None:
    """The suite has one test case with the sentence."""
    (suite,) = ElementTree.fromstring(junit_xml([ungraded()]))
    assert suite.get("name") == "bob: first"
    assert (suite.get("errors"), suite.get("failures")) == ("1", "0")
    error = suite.find("testcase/error")
    assert error is not None
    assert error.get("message") == SETTLE


def test_counts_are_those_of_the_elements() -> None:
    """Each submission is a suite, and each check is a test case."""
    root = ElementTree.fromstring(junit_xml(EVERYONE).encode())
    suites = root.findall("testsuite")
    assert [suite.get("name") for suite in suites] == [
        visible(f"{result.student}: first") for result in EVERYONE
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
    for suite, result in zip(suites, EVERYONE, strict=True):
        assert float(suite.get("time", "-1")) == (0 if result.verdict is None else 1.25)
        is_green = suite.get("failures") == "0" and suite.get("errors") == "0"
        assert is_green == (result.verdict == "passed")
        if result.verdict is not None:
            names = [case.get("name") for case in suite.findall("testcase")]
            assert names == list(result.statuses())
            assert suite.findtext("system-out") == visible(result.text, lines=True)


def test_failure_has_the_messages_of_all_cases() -> None:
    """The first message is the attribute, and all messages are the text."""
    suite = ElementTree.fromstring(junit_xml([FAILED]))[0]
    cases = {case.get("name"): case for case in suite.findall("testcase")}
    failure = cases["values"].find("failure")
    assert failure is not None
    assert (
        failure.get("message")
        == "padding mask: 300 of 672 values of out differ (45%); the inputs are SECRET-INPUT"
    )
    assert (failure.text or "").splitlines()[1].startswith("causal: ")
    skipped = cases["gradients"].find("skipped")
    assert skipped is not None
    assert skipped.get("message") == "incomplete"
    assert not list(cases["shapes"])


def test_submission_that_did_not_pass_has_a_failed_test() -> None:
    """If no check failed, the verdict is a failed test."""
    nothing_failed = classroom.result("Ann", verdict="failed", skipped=("values",))
    root = ElementTree.fromstring(junit_xml([nothing_failed]))
    assert root.get("failures") == "1"
    assert root.find("testsuite/testcase[@name='verdict']/failure") is not None
