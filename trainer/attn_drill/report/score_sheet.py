"""A score sheet of a mock interview as terminal text.

It has the number of solved problems, what to practise next, the score and its rules, each problem
with the learner's code next to the reference, and the questions.
"""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator
from typing import TextIO

from rich.console import Group, RenderableType
from rich.padding import Padding
from rich.text import Text

from attn_drill.interview.score import ProblemRow, QuestionRow, ScoreSheet
from attn_drill.practice.schedule import RATINGS
from attn_drill.report.code_pair import code_pair
from attn_drill.report.follow_up_text import prose_of
from attn_drill.report.literal import Trimmed, console, grid
from attn_drill.report.styles import QUIET, RIGHT, WRONG
from attn_drill.report.terminal import VERDICTS
from attn_drill.report.visible import visible

_NOT_ANSWERED = "not answered"


def show(sheet: ScoreSheet, stream: TextIO) -> None:
    """Print a sheet in the terminal's width."""
    out = console(stream)
    out.print(render(sheet, out.width))


def render(sheet: ScoreSheet, width: int = 80) -> RenderableType:
    """Return the whole sheet as one renderable."""
    parts: list[RenderableType] = [Text.assemble((headline(sheet), "bold"), f"  {when(sheet)}")]
    if sheet.practise:
        advice = [Text(visible(line, lines=True)) for line in sheet.practise]
        parts += [Text(), _title("Practise next"), _indented(2, *advice)]
    parts += [Text(), _title(score(sheet)), _parts(sheet)]
    if sheet.questions:
        parts += [Text(), Text(own_ratings(sheet))]
    parts += [Text(), _title("Time"), _times(sheet)]
    for number, problem in enumerate(sheet.problems, start=1):
        parts += [Text(), *_problem(number, problem, width)]
    if sheet.questions:
        parts += [Text(), _title("Questions")]
    for number, question in enumerate(sheet.questions, start=1):
        parts += [*([Text()] if number > 1 else []), *_question(number, question)]
    return Trimmed(Group(*parts))


# Words that the terminal and the page share


def minutes(seconds: float) -> str:
    """Return minutes and seconds, for example `12:05`."""
    return f"{int(seconds) // 60}:{int(seconds) % 60:02}"


def headline(sheet: ScoreSheet) -> str:
    """Return the number of solved problems in words."""
    count = len(sheet.problems)
    return f"{sheet.solved} of {count} {'problem' if count == 1 else 'problems'} solved"


def when(sheet: ScoreSheet) -> str:
    """Return the local date and time at which the interview began."""
    return time.strftime("%Y-%m-%d %H:%M", time.localtime(sheet.began))


def score(sheet: ScoreSheet) -> str:
    """Return the points in words."""
    return f"Score: {sheet.total} of 100 points"


def own_ratings(sheet: ScoreSheet) -> str:
    """Return how often the learner gave each rating, in words."""
    counts = Counter(rating_in_words(question) for question in sheet.questions)
    words = [f"{counts[word]} {word}" for word in (*RATINGS[::-1], _NOT_ANSWERED) if counts[word]]
    return f"Your own ratings: {', '.join(words)}. They give no points."


def times(sheet: ScoreSheet) -> list[tuple[str, str, str]]:
    """Return rows of a stage, its time, and its share of the time, with a last row for the total.

    A share that was exceeded also has the overtime.
    """
    plan, state = sheet.plan, sheet.state
    rows = [
        (
            f"{problem.stage.role}, {problem.stage.challenge}",
            problem.state.seconds,
            problem.stage.seconds,
            problem.overtime_seconds,
        )
        for problem in sheet.problems
    ]
    if sheet.questions:
        rows.append(("questions", state.question_seconds, plan.question_seconds, 0.0))
    rows.append(("total", state.seconds, plan.seconds, max(0.0, state.seconds - plan.seconds)))
    return [
        (name, minutes(spent), minutes(of) + (f", {minutes(over)} overtime" if over >= 1 else ""))
        for name, spent, of, over in rows
    ]


def outcome(problem: ProblemRow) -> tuple[str, str]:
    """Return the verdict as a word, and the checks, attempts and help in words."""
    state = problem.state
    result = state.result
    word = (
        VERDICTS.get(result.verdict, result.verdict.upper())
        if result is not None
        else "NOTHING HANDED IN"
        if state.code is None
        else "NO VERDICT"
    )
    facts = [f"{result.passed} of {result.total} checks passed"] if result is not None else []
    if result is not None and result.bugs_left is not None:
        repaired = len(problem.bugs) - result.bugs_left
        facts.insert(0, f"{repaired} of {len(problem.bugs)} bugs repaired")
    facts += [
        _many(state.attempts, "attempt", "attempts"),
        _many(state.hints, "hint", "hints"),
        _many(state.revealed_mistakes, "mistake shown", "mistakes shown"),
    ]
    if state.reference_seen:
        facts.append("the reference was shown")
    return word, ", ".join(facts)


def _many(count: int, singular: str, plural: str) -> str:
    return f"{count or 'no'} {singular if count == 1 else plural}"


def rating_in_words(question: QuestionRow) -> str:
    """Return the learner's own rating of the answer as a word."""
    return _NOT_ANSWERED if question.rating is None else RATINGS[question.rating - 1]


# The terminal


def _indented(blanks: int, *parts: RenderableType) -> RenderableType:
    return Padding(Group(*parts), (0, 0, 0, blanks), expand=False)


def _title(words: str) -> Text:
    return Text(words, style="bold")


def _parts(sheet: ScoreSheet) -> RenderableType:
    lines: list[RenderableType] = []
    for part in sheet.parts:
        lines.append(Text(f"{part.name:<13}{part.points:4.1f} of {part.most}"))
        lines.append(_indented(2, Text(part.rule, style=QUIET)))
    return _indented(2, *lines)


def _times(sheet: ScoreSheet) -> RenderableType:
    table = grid(padding=(0, 2))
    table.add_column()
    table.add_column(justify="right")
    table.add_column()
    for stage, spent, share in times(sheet):
        table.add_row(stage, spent, f"of {share}")
    return _indented(2, table)


def _problem(number: int, problem: ProblemRow, width: int) -> Iterator[RenderableType]:
    word, facts = outcome(problem)
    yield _title(f"{number}  {problem.stage.role}: {problem.title} ({problem.stage.challenge})")
    line = Text(word, style=f"bold {RIGHT if problem.passed else WRONG}")
    line.append(f"  {facts}", style="not bold default")
    parts = [line]
    result = problem.state.result
    if result is not None and result.failed:
        parts.append(Text(f"failed: {', '.join(result.failed)}", style=WRONG))
    if problem.state.note:
        parts.append(Text(visible(problem.state.note, lines=True)))
    parts += [Text(f"bug: {bug}") for bug in problem.bugs]
    yield _indented(3, *parts)
    yield Text()
    codes = (problem.state.code, problem.reference or None)
    yield code_pair(("yours", "reference"), codes, width)


def _question(number: int, question: QuestionRow) -> Iterator[RenderableType]:
    follow_up = question.follow_up
    yield Text(f"{number}  {prose_of(follow_up.question)}")
    rows = grid(padding=(0, 2))
    rows.add_column(style=QUIET, no_wrap=True)
    rows.add_column()
    rows.add_row("your rating", rating_in_words(question))
    rows.add_row("answer", Text(prose_of(follow_up.answer)))
    yield _indented(3, rows)
