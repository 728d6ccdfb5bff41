"""Turn the report on a file into the results of tests. Nothing here needs pytest.

There is a test for each check and case of the report on the reference. So the names of the tests
are the same whatever is wrong with a file.
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

    names   the check, and the case unless there is only one test on the whole file
    key     the case's number, from 1; 0, -1, -2 … for the check's tests on the whole file
    """

    names: tuple[str, ...]
    key: int


@dataclass(frozen=True)
class TestResult:
    """The result of a test.

    outcomes       why the test failed or was skipped
    shows_report   the whole report is shown with this test
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
        message = f"the verdict is {report.verdict!r}, though no check failed"
        failure = Outcome(tests[0].names[0], "failed", message)
        found[0] = TestResult(tests[0], "failed", (failure,))
    return found


def settled(chosen: Sequence[TestResult], report: Report) -> list[TestResult]:
    """Return the results of the tests that run. The first failing one shows the whole report.

    If none of them fails though the file does, the skipped ones fail. Else a run that leaves out
    the failing test would look like a pass.
    """
    found = list(chosen)
    if report.verdict != "passed" and all(result.status != "failed" for result in found):
        found = [_failed_if_skipped(result, report) for result in found]
    for place, result in enumerate(found):
        if result.status == "failed":
            found[place] = replace(result, shows_report=True)
            break
    return found


def as_name(text: str) -> str:
    """Return a text as a part of a node id: one line, without `::` and brackets."""
    return " ".join(visible(text, lines=True).replace("::", ":").translate(_ROUND).split())


def _keyed(report: Report) -> Iterator[tuple[int, Outcome]]:
    """Yield each outcome with the key of the test that it is about."""
    places = Counter[str]()
    for outcome in report.outcomes:
        if outcome.number is None:
            yield -places[outcome.check], outcome
            places[outcome.check] += 1
        else:
            yield outcome.number, outcome


def _tests(reference: Report) -> list[DrillTest]:
    """Return the tests, check by check. Two outcomes of a check on one case are one test."""
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
    """Return a name that is not taken: `odd`, `odd (2)`, `odd (3)` …"""
    free, count = name, 1
    while free in taken:
        count += 1
        free = f"{name} ({count})"
    return free


def _tests_of(outcome: Outcome, key: int, tests: Sequence[DrillTest]) -> Sequence[DrillTest]:
    """Return the tests that an outcome is about.

    An outcome without a test of its own is about all tests of the check. A failure of a check
    without tests is about the first test of all.
    """
    of_check = [test for test in tests if test.names[0] == outcome.check]
    exact = [test for test in of_check if test.key == key]
    return exact or of_check or tests[:1]


def _result(test: DrillTest, outcomes: Sequence[Outcome], report: Report) -> TestResult:
    failed = tuple(outcome for outcome in outcomes if outcome.status == "failed")
    if failed:
        return TestResult(test, "failed", failed)
    if any(outcome.status == "passed" for outcome in outcomes):
        return TestResult(test, "passed")
    outcome = outcomes[0] if outcomes else _left_out(test, report)
    return TestResult(test, outcome.status, (outcome,))


def _left_out(test: DrillTest, report: Report) -> Outcome:
    """Return why a report says nothing of a test: later checks leave out a case that failed."""
    causes = [outcome for outcome in report.outcomes if outcome.status == "failed"]
    if test.key > 0:
        causes = [cause for cause in causes if cause.number == test.key] or causes
    if causes:
        return Outcome(test.names[0], "skipped", f"needs {causes[0].check}")
    message = "the report says nothing of this test, though a right answer passes it"
    return Outcome(test.names[0], "failed", message)


def _failed_if_skipped(result: TestResult, report: Report) -> TestResult:
    if result.status != "skipped":
        return result
    first = report.first_failure()
    cause = f": {first.check} failed: {first.message}" if first is not None else ""
    message = f"{result.outcomes[0].message}, so this was not looked at{cause}"
    case_number = result.test.key if result.test.key > 0 else None
    failure = Outcome(result.test.names[0], "failed", message, number=case_number)
    return replace(result, status="failed", outcomes=(failure,))
