"""Tests of `pytest --drill`: its items, their results, and runs of pytest without it."""

import random
from collections import Counter
from collections.abc import Sequence

import pytest

from trainer.model.case import Case
from trainer.model.checks import CHECK_ORDER, Status, Verdict
from trainer.model.report import Outcome, Report
from trainer.pytest_plugin import drill_run as drill_run
from trainer.pytest_plugin.test_results import results, settle_results


def on_cases(check: str) -> list[Outcome]:
    """Return that a check passed on both cases."""
    return [Outcome(check, "passed", "", case, n) for n, case in enumerate(("one", "two"), 1)]


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


def failed(check: str, number: int | None = None) -> Outcome:
    """Return a failure."""
    return Outcome(check, "failed", f"{check} {number} is wrong", None, number)


def test_each_check_and_case_is_a_test() -> None:
    """Two outcomes on one case are one test; several on the whole file are named by messages."""
    assert [one.test.names for one in results(REFERENCE, REFERENCE)] == [
        ("loads",),
        *((check, case) for check in ("runs", "values", "properties") for case in ("one", "two")),
        ("bad sizes", "odd"),
        ("bad sizes", "even"),
    ]


def test_names_are_unique_and_have_one_line() -> None:
    """Whatever a pack calls its cases, and though many bad sizes are refused for one reason."""
    cases = ("a::b", "a:b", "a\n b\x1b[0m", "", "a:b [2]")
    odd = [Outcome("runs", "passed", "", case, n) for n, case in enumerate(cases, 1)]
    odd += [Outcome("bad sizes", "passed", reason) for reason in ("odd", "even", "odd", "odd")]
    names = [one.test.names[1] for one in results(report(odd), report(odd))]
    of_cases = ["a:b", "a:b (2)", r"a b\x1b(0m", "4", "a:b (2) (2)"]
    assert names == [*of_cases, "odd", "even", "odd (2)", "odd (3)"]


# Reports by what is special in them: the outcomes, the verdict, the tests that did not pass.
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
    "a check that was not made": (
        [*RIGHT[:4], failed("values", 2), Outcome("properties", "skipped"), *RIGHT[-2:]],
        "failed",
        {"values two": "failed", "properties one": "skipped", "properties two": "skipped"},
    ),
}


@pytest.mark.parametrize("special", REPORTS)
def test_results_of_a_report(special: str) -> None:
    """A failure fails its test, a check that was not made skips its tests, and the rest passes."""
    outcomes, verdict, expected = REPORTS[special]
    found = results(REFERENCE, report(outcomes, verdict))
    assert {
        " ".join(one.test.names): one.status for one in found if one.status != "passed"
    } == expected


def test_empty_report_fails_everything() -> None:
    """Nothing passes that was not looked at."""
    assert {one.status for one in results(REFERENCE, report([]))} == {"failed"}


def test_skipped_tests_fail_if_the_failing_test_is_not_chosen() -> None:
    """Else nothing would tell of the failure. The first failing test shows the whole report."""
    later = ("runs", "values", "properties", "bad sizes")
    broken = report(
        [failed("loads"), *(Outcome(check, "skipped", "needs loads") for check in later)]
    )
    found = results(REFERENCE, broken)
    everything, some = settle_results(found, broken), settle_results(found[1:], broken)
    assert Counter(one.status for one in everything) == {"failed": 1, "skipped": 8}
    assert Counter(one.status for one in some) == {"failed": 8}
    assert [one.shows_report for one in some] == [True] + [False] * 7
    message = "needs loads, so this was not looked at: loads failed: loads None is wrong"
    assert some[2].outcomes == (Outcome("values", "failed", message, number=1),)


def test_no_failure_of_a_report_is_lost() -> None:
    """In 300 random reports, a failing test tells each failure, and no choice of tests is green."""
    drawn = random.Random(7)
    statuses: tuple[Status, ...] = ("passed", "passed", "failed", "skipped")
    for _ in range(300):
        outcomes = []
        for check in drawn.sample(CHECK_ORDER, 8):
            for number in drawn.sample((None, 1, 2, 3), 2):
                outcomes.append(Outcome(check, drawn.choice(statuses), "why", None, number))
        drawn_report = report(outcomes, drawn.choice(("failed", "error", "timeout")))
        found = results(REFERENCE, drawn_report)
        told = {outcome for one in found if one.status == "failed" for outcome in one.outcomes}
        assert {outcome for outcome in outcomes if outcome.status == "failed"} <= told
        assert any(one.status == "failed" for one in found)
        chosen = {one.status for one in settle_results(drawn.sample(found, 3), drawn_report)}
        assert "failed" in chosen or chosen == {"passed"}
