"""Which tests there are, and what becomes of each under a report. Knows nothing of pytest.

The tests are the pairs of check and case in the report of a right answer under the same seed. What a submission's report says must all come to
light: what failed there fails a test, whatever it is about, and nothing passes that was not looked at.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from trainer.core.report import Outcome, Report
from trainer.core.words import Status
from trainer.display.visible import visible

_ROUND = str.maketrans("[]", "()")


@dataclass(frozen=True)
class Due:
    """One test.

    number   of the case, from 1; None where the check is about the whole submission
    place    among the tests of this check without a case, from 0
    name     unique within the check; "" where it is the check's only test, and about the whole submission
    """

    check: str
    number: int | None
    place: int
    name: str


@dataclass(frozen=True)
class Became:
    """What became of a test. `outcomes`: those that failed it; `reason`: why it was skipped."""

    status: Status
    outcomes: tuple[Outcome, ...] = ()
    reason: str = ""


def all_due(right: Report) -> tuple[Due, ...]:
    """The tests, from the report of a right answer, in the order in which they are made and shown: check by check."""
    found: list[Due] = []
    for check in dict.fromkeys(outcome.check for outcome in right.outcomes):
        outcomes = [outcome for outcome in right.outcomes if outcome.check == check]
        whole = [outcome for outcome in outcomes if outcome.number is None]
        if len(outcomes) == len(whole) == 1:
            found.append(Due(check, None, 0, ""))
            continue
        named = [(None, place, outcome.message) for place, outcome in enumerate(whole)]
        # A check may say two things of one case; it is one test.
        cases = {
            outcome.number: outcome.case or "" for outcome in outcomes if outcome.number is not None
        }
        taken: set[str] = set()
        for number, place, text in [*named, *((number, 0, case) for number, case in cases.items())]:
            taken.add(name := _unique(as_name(text) or f"{number or place + 1}", taken))
            found.append(Due(check, number, place, name))
    return tuple(found)


def as_name(text: str) -> str:
    """A text as the name of a test: one line, without what pytest reads in an id. `::` parts the names of the tests' tree, brackets hold parameters."""
    return " ".join(visible(text, lines=True).replace("::", ":").translate(_ROUND).split())


def _unique(name: str, taken: Collection[str]) -> str:
    tried, count = name, 1
    while tried in taken:
        count += 1
        tried = f"{name} ({count})"
    return tried


def what_became(report: Report, due: Sequence[Due], chosen: Collection[Due]) -> tuple[Became, ...]:
    """What becomes of every test.

    A test is skipped only where another fails for the same reason, among the chosen ones that are really run: else nothing would tell of it.
    """
    became = _each(report, due)
    if report.verdict == "passed" or any(
        one.status == "failed" for one, test in zip(became, due, strict=True) if test in chosen
    ):
        return became
    return tuple(
        _fails_here(report, one, test) if one.status == "skipped" else one
        for one, test in zip(became, due, strict=True)
    )


def _each(report: Report, due: Sequence[Due]) -> tuple[Became, ...]:
    said: dict[Due, list[Outcome]] = {test: [] for test in due}
    for check in dict.fromkeys(outcome.check for outcome in report.outcomes):
        tests = [test for test in due if test.check == check]
        outcomes = [outcome for outcome in report.outcomes if outcome.check == check]
        for outcome in outcomes:
            found = _meant(outcome, outcomes, tests)
            if not found and outcome.status == "failed":
                found = tests[:1] or list(due[:1])
            for test in found:
                said[test].append(outcome)
    became = [_became(report, test, outcomes) for test, outcomes in said.items()]
    if report.verdict != "passed" and not any(one.status == "failed" for one in became):
        became[0] = Became(
            "failed",
            (
                Outcome(
                    due[0].check,
                    "failed",
                    f"the verdict is {report.verdict!r}, though no check says so",
                ),
            ),
        )
    return tuple(became)


def _meant(outcome: Outcome, outcomes: Sequence[Outcome], tests: Sequence[Due]) -> Sequence[Due]:
    """The tests of a check that one of the outcomes of this check speaks of."""
    if outcome.number is not None:
        return [test for test in tests if test.number == outcome.number]
    whole = [test for test in tests if test.number is None]
    about_whole = [one for one in outcomes if one.number is None]
    if len(whole) == len(about_whole):
        return [test for test, one in zip(whole, about_whole, strict=True) if one is outcome]
    return tests if outcome.status == "skipped" else []


def _became(report: Report, test: Due, said: Sequence[Outcome]) -> Became:
    if failed := tuple(outcome for outcome in said if outcome.status == "failed"):
        return Became("failed", failed)
    if any(outcome.status == "passed" for outcome in said):
        return Became("passed")
    if said:
        return Became("skipped", reason=said[0].message)
    # Of a case that did not run, or is wrong already, later checks say nothing.
    failed_before = [
        one
        for one in report.outcomes
        if one.status == "failed" and test.number in (one.number, None)
    ]
    if (why := failed_before[0] if failed_before else report.first_failure()) is not None:
        return Became("skipped", reason=f"needs {why.check}")
    return Became(
        "failed",
        (
            Outcome(
                test.check,
                "failed",
                "nothing is said of this, though it is of a right answer",
                test.name,
                test.number,
            ),
        ),
    )


def _fails_here(report: Report, skipped: Became, test: Due) -> Became:
    first = report.first_failure()
    because = f": {first.check} failed: {first.message}" if first is not None else ""
    return Became(
        "failed",
        (
            Outcome(
                test.check,
                "failed",
                f"{skipped.reason}, so this was not looked at{because}",
                test.name,
                test.number,
            ),
        ),
    )
