"""Tests of turning reports into the results of tests."""

import random
from collections import Counter
from collections.abc import Sequence

import pytest

from trainer.model.case import Case
from trainer.model.checks import CHECK_ORDER, Status, Verdict
from trainer.model.report import Outcome, Report
from trainer.pytest_plugin.test_results import is_hidden_failure, results, settle_results


def on_cases(check: str) -> list[Outcome]:
    """Return the outcomes of a check that passed on both cases."""
    return [Outcome(check, "passed", "", "one", 1), Outcome(check, "passed", "", "two", 2)]


RIGHT = [
    Outcome("loads", "passed"),
    *on_cases("runs"),
    *on_cases("values"),
    *on_cases("properties"),
    Outcome("properties", "passed", case="two", number=2),
    Outcome("bad sizes", "passed", "odd"),
    Outcome("bad sizes", "passed", "even"),
]


def report(outcomes: Sequence[Outcome], verdict: Verdict = "failed") -> Report:
    """Return a report with these outcomes."""
    cases = tuple(Case(name, {}, {}, {}) for name in ("one", "two"))
    return Report("made-up", "it.py", 1, verdict, tuple(outcomes), cases)


REFERENCE = report(RIGHT, "passed")


def failed(check: str, case_number: int | None = None) -> Outcome:
    """Return a failure of a check on a case, or on the whole file."""
    return Outcome(check, "failed", f"{check} {case_number} is wrong", None, case_number)


def test_each_check_and_case_is_a_test() -> None:
    """Two outcomes on the same case are one test.

    If a check has several outcomes on the whole file, their messages are the names of the tests.
    """
    assert [result.test.names for result in results(REFERENCE, REFERENCE)] == [
        ("loads",),
        *((check, case) for check in ("runs", "values", "properties") for case in ("one", "two")),
        ("bad sizes", "odd"),
        ("bad sizes", "even"),
    ]


def test_names_are_unique_and_have_one_line() -> None:
    """Unusual names of cases, and equal messages of bad sizes, give unique names."""
    cases = ("a::b", "a:b", "a\n b\x1b[0m", "", "a:b [2]")
    outcomes = [
        Outcome("runs", "passed", "", case, case_number)
        for case_number, case in enumerate(cases, 1)
    ]
    reasons = ("odd", "even", "odd", "odd")
    outcomes += [Outcome("bad sizes", "passed", reason) for reason in reasons]
    names = [result.test.names[1] for result in results(report(outcomes), report(outcomes))]
    case_names = ["a:b", "a:b (2)", r"a b\x1b(0m", "4", "a:b (2) (2)"]
    assert names == [*case_names, "odd", "even", "odd (2)", "odd (3)"]


# For each kind of report: the outcomes, the verdict, and the tests that did not pass.
REPORTS: dict[str, tuple[list[Outcome], Verdict, dict[str, str]]] = {
    "right": (RIGHT, "passed", {}),
    "a case": (
        [*RIGHT[:4], failed("values", 2), *RIGHT[5:]],
        "failed",
        {"values two": "failed"},
    ),
    "one of two outcomes on a case": (
        [*RIGHT[:7], failed("properties", 2), *RIGHT[8:]],
        "failed",
        {"properties two": "failed"},
    ),
    "second of two on the whole file": (
        [*RIGHT[:-1], failed("bad sizes")],
        "failed",
        {"bad sizes even": "failed"},
    ),
    "one on the whole file instead of two": (
        [*RIGHT[:-2], failed("bad sizes")],
        "error",
        {"bad sizes odd": "failed", "bad sizes even": "skipped"},
    ),
    "case instead of file": ([failed("loads", 2), *RIGHT[1:]], "failed", {"loads": "failed"}),
    "file instead of case": (
        [failed("runs"), *RIGHT],
        "timeout",
        {"runs one": "failed", "runs two": "failed"},
    ),
    "unknown check": ([failed("memory", 2), *RIGHT], "failed", {"loads": "failed"}),
    "unknown case": (
        [failed("values", 3), *RIGHT],
        "failed",
        {"values one": "failed", "values two": "failed"},
    ),
    "verdict without a failure": (RIGHT, "memory", {"loads": "failed"}),
    "passed without all checks": (
        RIGHT[:-2],
        "passed",
        {"bad sizes even": "failed", "bad sizes odd": "failed"},
    ),
    "later checks leave the case out": (
        [*RIGHT[:2], failed("runs", 2), RIGHT[3], RIGHT[5], *RIGHT[-2:]],
        "error",
        {"runs two": "failed", "values two": "skipped", "properties two": "skipped"},
    ),
    "a check that did not run": (
        [*RIGHT[:4], failed("values", 2), Outcome("properties", "skipped"), *RIGHT[-2:]],
        "failed",
        {"values two": "failed", "properties one": "skipped", "properties two": "skipped"},
    ),
}


@pytest.mark.parametrize("kind", REPORTS)
def test_results_of_a_report(kind: str) -> None:
    """A failure fails its test, a check that did not run skips its tests, and the rest passes."""
    outcomes, verdict, expected = REPORTS[kind]
    found = results(REFERENCE, report(outcomes, verdict))
    assert {
        " ".join(result.test.names): result.status for result in found if result.status != "passed"
    } == expected


def test_empty_report_fails_all_tests() -> None:
    """A test without an outcome does not pass."""
    assert {result.status for result in results(REFERENCE, report([]))} == {"failed"}


def test_skipped_tests_name_the_failure_if_its_test_is_not_chosen() -> None:
    """Otherwise nothing would show the failure. The first failed test shows the whole report."""
    later = ("runs", "values", "properties", "bad sizes")
    broken = report(
        [failed("loads"), *(Outcome(check, "skipped", "needs loads") for check in later)]
    )
    found = results(REFERENCE, broken)
    all_tests, later_tests = settle_results(found, broken), settle_results(found[1:], broken)
    assert Counter(result.status for result in all_tests) == {"failed": 1, "skipped": 8}
    assert [result.shows_report for result in all_tests] == [True] + [False] * 8
    assert all_tests[3].outcomes[0].message == "needs loads"
    assert Counter(result.status for result in later_tests) == {"skipped": 8}
    message = "needs loads, so this was not checked: loads failed: loads None is wrong"
    assert later_tests[2].outcomes == (Outcome("values", "skipped", message),)


@pytest.mark.parametrize(
    ("statuses", "verdict", "expected"),
    [
        ({"skipped"}, "failed", True),
        ({"skipped", "passed"}, "timeout", True),
        ({"skipped", "failed"}, "failed", False),
        ({"passed"}, "failed", False),
        (set(), "failed", False),
        ({"skipped"}, "passed", False),
    ],
)
def test_run_with_only_skipped_tests_hides_a_failure(
    statuses: set[str], verdict: Verdict, expected: bool
) -> None:
    """The verdict of the file decides if a chosen test was not checked."""
    assert is_hidden_failure(statuses, report(RIGHT, verdict)) is expected


def test_no_failure_of_a_report_is_lost() -> None:
    """In 300 random reports, each failure belongs to a failed test.

    A choice of tests with a skipped test has a failed test, or counts as a hidden failure.
    """
    draw = random.Random(7)
    statuses: tuple[Status, ...] = ("passed", "passed", "failed", "skipped")
    for _ in range(300):
        outcomes = []
        for check in draw.sample(CHECK_ORDER, 8):
            for case_number in draw.sample((None, 1, 2, 3), 2):
                outcomes.append(Outcome(check, draw.choice(statuses), "why", None, case_number))
        random_report = report(outcomes, draw.choice(("failed", "error", "timeout")))
        found = results(REFERENCE, random_report)
        failures = [result for result in found if result.status == "failed"]
        assert failures or all(outcome.status != "failed" for outcome in outcomes)
        shown = {outcome for result in failures for outcome in result.outcomes}
        assert {outcome for outcome in outcomes if outcome.status == "failed"} <= shown
        chosen = settle_results(draw.sample(found, 3), random_report)
        chosen_statuses = {result.status for result in chosen}
        assert (
            "failed" in chosen_statuses
            or chosen_statuses == {"passed"}
            or is_hidden_failure(chosen_statuses, random_report)
        )
