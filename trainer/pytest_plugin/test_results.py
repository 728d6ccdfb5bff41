"""Turn the report on a file into the results of tests. This module does not need pytest.

The report on the reference defines the tests, one for each check and case. So the names of the
tests are always the same, even if a file has errors.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass, replace

from trainer.model.checks import Status
from trainer.model.report import Outcome, Report
from trainer.report.visible import visible

_ROUND = str.maketrans("[]", "()")


@dataclass(frozen=True)
class DrillTest:
    """A check on one case, or on the whole file.

    Attributes:
        names: the check and the case. Only the check if the check has one test on the whole file.
        key: the case number, from 1. 0, -1, -2 … for the check's tests on the whole file.
    """

    names: tuple[str, ...]
    key: int


@dataclass(frozen=True)
class TestResult:
    """The result of a test.

    Attributes:
        test: the test.
        status: passed, failed or skipped.
        outcomes: the outcomes for which the test failed or was skipped.
        shows_report: True if this test shows the whole report.
    """

    test: DrillTest
    status: Status
    outcomes: tuple[Outcome, ...] = ()
    shows_report: bool = False


def results(reference: Report, report: Report) -> list[TestResult]:
    """Return the result of each test.

    Args:
        reference: the report on a right answer under the same seed.
        report: the report on the file.
    """
    tests = _tests(reference)
    outcomes: dict[DrillTest, list[Outcome]] = {test: [] for test in tests}
    for key, outcome in _keyed(report):
        for test in _tests_of(outcome, key, tests):
            outcomes[test].append(outcome)
    found = [_result(test, outcomes[test], report) for test in tests]
    if report.verdict != "passed" and all(result.status == "passed" for result in found):
        message = f"the verdict is {report.verdict!r}, although no check failed"
        failure = Outcome(tests[0].names[0], "failed", message)
        found[0] = TestResult(tests[0], "failed", (failure,))
    return found


def settle_results(chosen: Sequence[TestResult], report: Report) -> list[TestResult]:
    """Return the final results of the tests that run. The first failed test shows the report.

    If no chosen test failed, the skipped tests say which check failed, because no other test does.

    Args:
        chosen: the results of the tests that run.
        report: the report on the file.
    """
    final = list(chosen)
    if report.verdict != "passed" and all(result.status != "failed" for result in final):
        final = [_with_cause(result, report) for result in final]
    for index, result in enumerate(final):
        if result.status == "failed":
            final[index] = replace(result, shows_report=True)
            break
    return final


def is_hidden_failure(statuses: Container[str], report: Report) -> bool:
    """Return whether a run looks like a pass only because the failed tests were not chosen.

    A skipped test was not checked. So a run with skipped tests and without a failed test passes
    only if the file passed.

    Args:
        statuses: the statuses of the tests that ran.
        report: the report on the file.
    """
    return report.verdict != "passed" and "skipped" in statuses and "failed" not in statuses


def as_name(text: str) -> str:
    """Return a text as a part of a node id: one line, without `::` and square brackets."""
    return " ".join(visible(text, lines=True).replace("::", ":").translate(_ROUND).split())


def _keyed(report: Report) -> Iterator[tuple[int, Outcome]]:
    """Yield each outcome with the key of its test."""
    counts = Counter[str]()
    for outcome in report.outcomes:
        if outcome.number is None:
            yield -counts[outcome.check], outcome
            counts[outcome.check] += 1
        else:
            yield outcome.number, outcome


def _tests(reference: Report) -> list[DrillTest]:
    """Return the tests, check by check. Two outcomes of a check on the same case are one test."""
    labels: dict[str, dict[int, str]] = {}
    for key, outcome in _keyed(reference):
        label = outcome.message if outcome.number is None else outcome.case
        labels.setdefault(outcome.check, {}).setdefault(key, label or "")
    tests = []
    for check, label_by_key in labels.items():
        if list(label_by_key) == [0]:
            tests.append(DrillTest((check,), 0))
            continue
        names: set[str] = set()
        for key, label in label_by_key.items():
            name = _free_name(as_name(label) or str(max(key, 1 - key)), names)
            names.add(name)
            tests.append(DrillTest((check, name), key))
    return tests


def _free_name(name: str, taken: Container[str]) -> str:
    """Return a free name: `odd`, `odd (2)`, `odd (3)` …"""
    free, count = name, 1
    while free in taken:
        count += 1
        free = f"{name} ({count})"
    return free


def _tests_of(outcome: Outcome, key: int, tests: Sequence[DrillTest]) -> Sequence[DrillTest]:
    """Return the tests to which an outcome belongs.

    An outcome without a separate test belongs to all tests of its check. An outcome of a check
    without tests belongs to the very first test.
    """
    same_check = [test for test in tests if test.names[0] == outcome.check]
    exact = [test for test in same_check if test.key == key]
    return exact or same_check or tests[:1]


def _result(test: DrillTest, outcomes: Sequence[Outcome], report: Report) -> TestResult:
    failed = tuple(outcome for outcome in outcomes if outcome.status == "failed")
    if failed:
        return TestResult(test, "failed", failed)
    if any(outcome.status == "passed" for outcome in outcomes):
        return TestResult(test, "passed")
    outcome = outcomes[0] if outcomes else _missing_outcome(test, report)
    return TestResult(test, outcome.status, (outcome,))


def _missing_outcome(test: DrillTest, report: Report) -> Outcome:
    """Return an outcome for a test that the report leaves out.

    Later checks leave out a case that failed an earlier check.
    """
    causes = [outcome for outcome in report.outcomes if outcome.status == "failed"]
    if test.key > 0:
        causes = [cause for cause in causes if cause.number == test.key] or causes
    if causes:
        return Outcome(test.names[0], "skipped", f"needs {causes[0].check}")
    message = "the report has no result for this test, although a right answer passes it"
    return Outcome(test.names[0], "failed", message)


def _with_cause(result: TestResult, report: Report) -> TestResult:
    """Return a skipped result with the check that failed. Return other results unchanged."""
    first = report.first_failure()
    if result.status != "skipped" or first is None:
        return result
    outcome = result.outcomes[0]
    message = f"{outcome.message}, so this was not checked: {first.check} failed: {first.message}"
    return replace(result, outcomes=(replace(outcome, message=message),))
