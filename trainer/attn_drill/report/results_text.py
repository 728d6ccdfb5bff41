"""The learner's statistics, the score sheet of an interview, and tests as terminal text."""

from __future__ import annotations

import time
from bisect import bisect
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict
from datetime import timedelta
from itertools import groupby
from typing import Any

from rich.bar import Bar
from rich.console import Group, RenderableType
from rich.text import Text

from attn_drill.exercises.interview import ProblemRow, QuestionRow, ScoreSheet
from attn_drill.model.tests_report import FalseAlarm, TestsReport
from attn_drill.model.words import plural
from attn_drill.practice.schedule import RATINGS, ScheduledItem, days_until, in_days
from attn_drill.practice.statistics import OwnMistake, Stats, TopicStrength, Trend, Week
from attn_drill.report.code_text import Trimmed, code_pair, grid, indented, labelled
from attn_drill.report.lesson_text import prose_of
from attn_drill.report.terminal import VERDICTS
from attn_drill.report.wording import QUIET, RIGHT, WRONG, visible, wrapped

# The shades of a day in the calendar, the least attempts of each shade but the first, and words.
_SHADES, _LEAST = "·░▒▓█", (1, 3, 6, 10)
_SHADE_WORDS = ("none", "1-2", "3-5", "6-9", "10 or more")
_DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
_MONTHS = ("Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec")
_BARS = "▁▂▃▄▅▆▇"
_MOST_BARS = 16
_NOT_ANSWERED = "not answered"
_MOST_MISTAKES, _MOST_DUE, _MOST_LATER = 8, 12, 12
_WIDE = 60  # least width at which the tables have bars
# The command that asks an item of this kind.
_COMMANDS = {
    "challenge": "review starts the first",
    "follow-up": "review --minutes 15 asks the first",
}
EMPTY = (
    "There are no attempts yet. `attn-drill list` shows the challenges, `attn-drill start ID` "
    "hands out a stub, `attn-drill check ID` grades your answer."
)


def render_statistics(
    stats: Stats, titles: Mapping[str, str], now: float, width: int = 80
) -> RenderableType:
    """Return the statistics as one renderable, with the title of each topic by its name."""
    is_wide = width >= _WIDE
    parts: list[RenderableType] = [*_calendar(stats)]
    for title, content in (
        ("Due", _due(stats, now)),
        ("Next", _next(stats)),
        ("Topics", _topics(stats.topics, titles, is_wide) if stats.topics else None),
        ("Time against par", _trends(stats.trends, is_wide) if stats.trends else None),
        ("Your own mistakes", _mistakes(stats.mistakes, now) if stats.mistakes else None),
    ):
        if content is not None:
            parts += [Text(), Text(title, style="bold"), indented(content)]
    return Trimmed(Group(*parts))


def statistics_as_values(stats: Stats, titles: Mapping[str, str]) -> dict[str, Any]:
    """Return the statistics as plain values for JSON."""
    # Times are seconds since the epoch, days are ISO dates, recall is a probability from 0 to 1.
    return {
        "schema": "attn-drill.stats/2",
        "attempts": stats.attempts,
        "active_days": stats.active_days,
        "streak_days": stats.streak,
        "passed": len(stats.passed),
        "challenges": stats.challenges,
        "weeks": [
            {"monday": week.monday.isoformat(), "attempts": week.days} for week in stats.weeks
        ],
        "topics": [
            {**asdict(topic), "title": titles.get(topic.name, topic.name)} for topic in stats.topics
        ],
        "par": list(map(asdict, stats.trends)),
        "mistakes": list(map(asdict, stats.mistakes)),
        "next": stats.next,
        "later": [{"challenge": name, "builds_on": bases} for name, bases in stats.later.items()],
        "due": [_item_values(item) for item in stats.due],
        "next_due": _item_values(stats.next_due) if stats.next_due else None,
    }


def _item_values(item: ScheduledItem) -> dict[str, Any]:
    values = {"item": item.name, "due_at": item.due_at}
    return {**values, "recall": item.strength, "reviews": item.reviews}


def _calendar(stats: Stats) -> Iterator[Text]:
    yield Text(f"Last {len(stats.weeks)} weeks", style="bold")
    yield Text(f"       {_months(stats.weeks)}", style=QUIET)
    for weekday, name in enumerate(_DAYS):
        line = Text("  ").append(f"{name} ", style=QUIET)
        for week in stats.weeks:
            attempts = week.days[weekday]
            line.append(" ")
            if attempts is not None:
                shade = bisect(_LEAST, attempts)
                line.append(_SHADES[shade], style=RIGHT if shade else QUIET)
        line.rstrip()
        yield line
    legend = Text()
    for sign, words in zip(_SHADES, _SHADE_WORDS, strict=True):
        legend.append(f"  {sign}", style=RIGHT if words != "none" else QUIET)
        legend.append(f" {words}")
    yield legend
    active = f"{plural(stats.attempts, 'attempt')} on {plural(stats.active_days, 'day')}"
    passed = f"{len(stats.passed)} of {plural(stats.challenges, 'challenge')} passed"
    streak = "no day in a row yet"
    if stats.streak:
        *_, today = (day for day in stats.weeks[-1].days if day is not None)
        streak = f"{plural(stats.streak, 'day')} in a row" + ("" if today else " up to yesterday")
    yield Text(f"{active}, {passed}; {streak}.")


def _months(weeks: Sequence[Week]) -> str:
    """Return a line with the name of each month above the week in which it begins."""
    text = ""
    for index, week in enumerate(weeks):
        sunday = week.monday + timedelta(days=6)
        # The first week has a name too.
        if index and sunday.day > 7:
            continue
        column = 2 * index
        # Names must not touch. The name of the first week is then left out.
        text = (text if len(text) <= column else "").ljust(column)
        text += f"{_MONTHS[sunday.month - 1]} "
    return text.rstrip()


def _due(stats: Stats, now: float) -> RenderableType | None:
    if not stats.due:
        if stats.next_due is None:
            return None
        name = visible(_name(stats.next_due), lines=True)
        return Text(f"Nothing today. {name} is next, {_when(stats.next_due.due_at, now)}.")
    table = grid("left", "left", "right", padding=(0, 2))
    for item in stats.due[:_MOST_DUE]:
        name, recall = visible(_name(item), lines=True), f"recall {item.strength:.0%}"
        table.add_row(name, recall, Text(_when(item.due_at, now), style=QUIET))
    if (more := len(stats.due) - _MOST_DUE) > 0:
        table.add_row(f"and {more} more", "", "")
    kind = stats.due[0].name.split(":")[0]
    command = _COMMANDS.get(kind, "quiz asks the first")
    return Group(table, Text(f"attn-drill {command}.", style=QUIET))


def _name(item: ScheduledItem) -> str:
    """Return the id of a challenge, or what is asked."""
    match item.name.split(":"):
        case ["challenge", challenge]:
            return challenge
        case ["follow-up", challenge, number]:
            return f"{challenge}, follow-up question {number}"
        # The id of the mistake would be the answer.
        case ["line", challenge, _]:
            return f"{challenge}, a wrong line"
    return item.name.replace(":", " ", 1)


def _when(at: float, now: float) -> str:
    days = days_until(at, now)
    return in_days(at, now) if days >= 0 else f"{plural(-days, 'day')} ago"


def _next(stats: Stats) -> RenderableType | None:
    if not stats.next and not stats.later:
        return Text("Every challenge is passed.") if stats.challenges else None
    table = grid("left", "left", padding=(0, 2))
    for name, bases in list(stats.later.items())[:_MOST_LATER]:
        table.add_row(name, Text(f"builds on {' and '.join(bases)}", style=QUIET))
    if (more := len(stats.later) - _MOST_LATER) > 0:
        table.add_row(f"and {more} more", "")
    return Group(Text(", ".join(stats.next), style=RIGHT), table)


def _topics(
    topics: Sequence[TopicStrength], titles: Mapping[str, str], is_wide: bool
) -> RenderableType:
    table = grid("left", "left", "right", padding=(0, 2))
    for topic in topics:
        recall = "" if topic.recall is None else f"recall {topic.recall:.0%} of {topic.reviewed}"
        bar = Bar(1, 0, topic.recall or 0, width=10, color=RIGHT)
        table.add_row(
            visible(titles.get(topic.name, topic.name), lines=True),
            f"{topic.passed} of {topic.challenges}",
            recall,
            *([bar] if is_wide else []),
        )
    return Group(table, Text("passed; your chance to recall the reviewed items now", style=QUIET))


def _trends(trends: Sequence[Trend], is_wide: bool) -> RenderableType:
    """Return the times, with the last passes as bars."""
    table = grid("left", "left", padding=(0, 2))
    for trend in trends:
        words, bars = f"{trend.shares[0]:.1f} x par", ""
        if len(trend.shares) > 1:
            words = f"first {trend.shares[0]:.1f}, last {trend.shares[-1]:.1f} x par"
            shown = trend.shares[-_MOST_BARS:]
            most = max(shown) or 1.0
            for share in shown:
                bars += _BARS[min(len(_BARS) - 1, int(share / most * len(_BARS)))]
        cells = (trend.challenge or "all", words, Text(bars, style=RIGHT))
        table.add_row(*cells[: 3 if is_wide else 2])
    return table


def _mistakes(mistakes: Sequence[OwnMistake], now: float) -> RenderableType:
    table = grid("right", "left", padding=(0, 2))
    for mistake in mistakes[:_MOST_MISTAKES]:
        words = Text(f"{mistake.challenge}: ", style="bold")
        words.append(visible(mistake.says, lines=True), style="not bold")
        words.append(f" ({_when(min(mistake.last_at, now), now)})", style=f"not bold {QUIET}")
        table.add_row(Text(f"{mistake.count} x", style=WRONG), words)
    if (more := len(mistakes) - _MOST_MISTAKES) > 0:
        table.add_row("", f"and {more} more; --json has them all")
    return table


def minutes(seconds: float) -> str:
    """Return minutes and seconds.

    >>> minutes(725.9)
    '12:05'
    """
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def headline(sheet: ScoreSheet) -> str:
    """Return the number of solved problems in words."""
    return f"{sheet.solved} of {plural(len(sheet.problems), 'problem')} solved"


def when(sheet: ScoreSheet) -> str:
    """Return the local date and time at which the interview began."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(sheet.began))


def own_ratings(sheet: ScoreSheet) -> str:
    """Return how often the learner gave each rating, in words."""
    counts = Counter(map(rating_in_words, sheet.questions))
    order = (*RATINGS[::-1], _NOT_ANSWERED)
    words = [f"{counts[word]} {word}" for word in order if counts[word]]
    return f"Your own ratings: {', '.join(words)}. They give no points."


def times(sheet: ScoreSheet) -> Iterator[tuple[str, str, str]]:
    """Yield rows of a stage, its time, and its share of the time, with a last row for the total."""
    plan, state = sheet.plan, sheet.state
    rows: list[tuple[str, float, float, float]] = []
    for problem in sheet.problems:
        stage, overtime = problem.stage, problem.overtime_seconds
        name = f"{stage.role}, {stage.challenge}"
        rows.append((name, problem.state.seconds, stage.seconds, overtime))
    if sheet.questions:
        rows.append(("questions", state.question_seconds, plan.question_seconds, 0.0))
    rows.append(("total", state.seconds, plan.seconds, state.seconds - plan.seconds))
    for name, spent, planned, overtime in rows:
        over = f", {minutes(overtime)} overtime" if overtime >= 1 else ""
        yield name, minutes(spent), minutes(planned) + over


def outcome(problem: ProblemRow) -> tuple[str, str]:
    """Return the verdict as a word, and the checks, attempts and help in words."""
    state = problem.state
    result = state.result
    facts: list[str] = []
    if result is None:
        word = "NOTHING HANDED IN" if state.code is None else "NO VERDICT"
    else:
        word = VERDICTS.get(result.verdict, result.verdict.upper())
        if result.bugs_left is not None:
            bugs = len(problem.bugs)
            facts.append(f"{bugs - result.bugs_left} of {bugs} bugs repaired")
        facts.append(f"{result.passed} of {result.total} checks passed")
    for count, noun in (
        (state.attempts, "attempt"),
        (state.hints, "hint"),
        (state.revealed_mistakes, "mistake"),
    ):
        facts.append(plural(count, noun) if count else f"no {noun}s")
    facts[-1] += " shown"
    if state.reference_seen:
        facts.append("the reference was shown")
    return word, ", ".join(facts)


def rating_in_words(question: QuestionRow) -> str:
    """Return the learner's own rating of the answer as a word."""
    return _NOT_ANSWERED if question.rating is None else RATINGS[question.rating - 1]


def render_sheet(sheet: ScoreSheet, width: int = 80) -> RenderableType:
    """Return the whole sheet as one renderable."""
    parts: list[RenderableType] = [Text.assemble((headline(sheet), "bold"), f"  {when(sheet)}")]
    if sheet.practise:
        advice = [Text(visible(line, lines=True)) for line in sheet.practise]
        parts += [Text(), _title("Practise next"), indented(*advice)]
    parts += [Text(), _title(f"Score: {sheet.total} of 100 points")]
    for part in sheet.parts:
        parts.append(indented(Text(f"{part.name:<13}{part.points:4.1f} of {part.most}")))
        parts.append(indented(Text(part.rule, style=QUIET), blanks=4))
    if sheet.questions:
        parts += [Text(), Text(own_ratings(sheet))]
    table = grid("left", "right", "left", padding=(0, 2))
    for stage, spent, share in times(sheet):
        table.add_row(stage, spent, f"of {share}")
    parts += [Text(), _title("Time"), indented(table)]
    for number, problem in enumerate(sheet.problems, start=1):
        parts += [Text(), *_problem(number, problem, width)]
    if sheet.questions:
        parts += [Text(), _title("Questions")]
    for number, question in enumerate(sheet.questions, start=1):
        parts += [Text()] if number > 1 else []
        parts.append(Text(f"{number}  {prose_of(question.follow_up.question)}"))
        answer = Text(prose_of(question.follow_up.answer))
        rows = [("your rating", Text(rating_in_words(question))), ("answer", answer)]
        parts.append(indented(labelled(rows), blanks=3))
    return Trimmed(Group(*parts))


def _title(words: str) -> Text:
    return Text(words, style="bold")


def _problem(number: int, problem: ProblemRow, width: int) -> Iterator[RenderableType]:
    word, facts = outcome(problem)
    yield _title(f"{number}  {problem.stage.role}: {problem.title} ({problem.stage.challenge})")
    line = Text(word, style=f"bold {RIGHT if problem.passed else WRONG}")
    parts = [line.append(f"  {facts}", style="not bold default")]
    result = problem.state.result
    if result is not None and result.failed:
        parts.append(Text(f"failed: {', '.join(result.failed)}", style=WRONG))
    if problem.state.note:
        parts.append(Text(visible(problem.state.note, lines=True)))
    parts += [Text(f"bug: {bug}") for bug in problem.bugs]
    yield indented(*parts, blanks=3)
    yield Text()
    codes = (problem.state.code, problem.reference or None)
    yield code_pair(("yours", "reference"), codes, width)


# Tests that the learner wrote


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
    return Trimmed(Group(head, Text(), *_tests(report, width)))


def _tests(report: TestsReport, width: int) -> Iterator[RenderableType]:
    caught, count = report.caught, len(report.mistakes)
    refused = len(report.false_alarms)
    yield _counted(
        not refused, f"{report.answers - refused} of {report.answers} right answers pass"
    )
    seen: set[str] = set()  # a test that is wrong itself fails on all answers
    for alarm in report.false_alarms:
        yield from _alarm(alarm, seen, width)
        seen |= {failed.test for failed in alarm.tests}
    yield _counted(len(caught) == count, f"{len(caught)} of {plural(count, 'mistake')} caught")
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


def _counted(is_right: bool, words: str) -> Text:
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
