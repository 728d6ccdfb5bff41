"""The report about a learner's tests as terminal text."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from itertools import groupby

from rich.console import Group, RenderableType
from rich.text import Text

from attn_drill.model.tests_report import FalseAlarm, TestsReport
from attn_drill.model.words import plural
from attn_drill.report.code_text import Trimmed
from attn_drill.report.wording import QUIET, RIGHT, WRONG, visible, wrapped


def render_tests(report: TestsReport, width: int) -> RenderableType:
    """Return the score of a file of tests, the false alarms, and the mistakes that survived."""
    word, colour = ("PASSED", RIGHT) if report.passed else ("FAILED", WRONG)
    head = Text.assemble(
        (word, f"bold {colour}"),
        (f"  tests of {report.challenge}", "bold"),
        f"  seed {report.seed}  ",
        (visible(report.file), QUIET),
    )
    if report.trouble:
        trouble = wrapped(visible(f"No test could run: {report.trouble}."), width)
        return Trimmed(Group(head, Text(), Text(trouble, style=WRONG)))
    return Trimmed(Group(head, Text(), *_parts(report, width)))


def _parts(report: TestsReport, width: int) -> Iterator[RenderableType]:
    caught, count = report.caught, len(report.mistakes)
    refused = len(report.false_alarms)
    yield _line(not refused, f"{report.answers - refused} of {report.answers} right answers pass")
    seen: set[str] = set()  # a test that is wrong itself fails on all answers
    for alarm in report.false_alarms:
        yield from _alarm(alarm, seen, width)
        seen |= {failed.test for failed in alarm.tests}
    yield _line(len(caught) == count, f"{len(caught)} of {plural(count, 'mistake')} caught")
    survived = [each for each in report.mistakes if each not in caught]
    if survived:
        yield Text("\nNot caught", style="bold")
        for mistake in survived:
            yield Text(wrapped(f"- {mistake.says}", width, "  ", "  "))
    yield Text("\nYour tests", style="bold")
    by_mistake = [set(each.caught_by) for each in report.mistakes]
    for function, tests in groupby(report.tests, lambda test: test.partition("[")[0]):
        cases = set(tests)
        some = f" ({plural(len(cases), 'case')})" if len(cases) > 1 else ""
        number = sum(not cases.isdisjoint(each.caught_by) for each in report.mistakes)
        counted = plural(number, "mistake")
        if cases <= seen:
            counted = "not counted, because of the false alarm"
        elif cases & seen:
            counted += ", without the cases of the false alarm"
        yield Text(wrapped(visible(f"{function}{some}: {counted}"), width, "  ", "  "))
    for test in report.skipped:
        yield Text(wrapped(visible(f"{test}: skipped"), width, "  ", "  "), style=QUIET)
    if others := sum(caught.isdisjoint(report.tests) for caught in by_mistake if caught):
        yield Text(f"  all of them: {plural(others, 'mistake')} ended the tests", style=QUIET)


def _line(is_right: bool, words: str) -> Text:
    sign, style = ("✓", RIGHT) if is_right else ("✗", WRONG)
    return Text(f"{sign} {words}", style=style)


def _alarm(alarm: FalseAlarm, seen: Collection[str], width: int) -> Iterator[RenderableType]:
    """Yield the new tests that refuse a right answer, with what is special about the answer."""
    about = f"a right answer: {alarm.does}" if alarm.does else "the reference"
    tests = [failed for failed in alarm.tests if failed.test not in seen]
    if tests:
        yield Text(wrapped(f"False alarm on {about}", width, "  ", "  "), style="bold")
    for failed in tests:
        place = f", line {failed.line}" if failed.line else ""
        yield Text(wrapped(visible(f"{failed.test}{place}: {failed.failure}"), width, "    ", "  "))
