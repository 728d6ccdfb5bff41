"""A score sheet of a mock interview as terminal text, and the words that its page shares."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterator

from rich.console import Group, RenderableType
from rich.text import Text

from attn_drill.exercises.interview_score import ProblemRow, QuestionRow, ScoreSheet
from attn_drill.model.words import plural
from attn_drill.practice.schedule import RATINGS
from attn_drill.report.code_text import Trimmed, code_pair, grid, indented, labelled
from attn_drill.report.lesson_text import prose_of
from attn_drill.report.terminal import VERDICTS
from attn_drill.report.words import QUIET, RIGHT, WRONG, visible

_NOT_ANSWERED = "not answered"


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


def score(sheet: ScoreSheet) -> str:
    """Return the points in words."""
    return f"Score: {sheet.total} of 100 points"


def own_ratings(sheet: ScoreSheet) -> str:
    """Return how often the learner gave each rating, in words."""
    counts = Counter(map(rating_in_words, sheet.questions))
    order = (*RATINGS[::-1], _NOT_ANSWERED)
    words = [f"{counts[word]} {word}" for word in order if counts[word]]
    return f"Your own ratings: {', '.join(words)}. They give no points."


def times(sheet: ScoreSheet) -> Iterator[tuple[str, str, str]]:
    """Yield rows of a stage, its time, and its share of the time, with a last row for the total."""
    for problem in sheet.problems:
        name = f"{problem.stage.role}, {problem.stage.challenge}"
        share = problem.stage.seconds
        yield _time(name, problem.state.seconds, share, problem.overtime_seconds)
    spent, planned = sheet.state.seconds, sheet.plan.seconds
    if sheet.questions:
        yield _time("questions", sheet.state.question_seconds, sheet.plan.question_seconds)
    yield _time("total", spent, planned, spent - planned)


def _time(name: str, spent: float, planned: float, overtime: float = 0.0) -> tuple[str, str, str]:
    over = f", {minutes(overtime)} overtime" if overtime >= 1 else ""
    return name, minutes(spent), minutes(planned) + over


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
    facts.append(_many(state.attempts, "attempt"))
    facts.append(_many(state.hints, "hint"))
    facts.append(f"{_many(state.revealed_mistakes, 'mistake')} shown")
    if state.reference_seen:
        facts.append("the reference was shown")
    return word, ", ".join(facts)


def _many(count: int, noun: str) -> str:
    return plural(count, noun) if count else f"no {noun}s"


def rating_in_words(question: QuestionRow) -> str:
    """Return the learner's own rating of the answer as a word."""
    return _NOT_ANSWERED if question.rating is None else RATINGS[question.rating - 1]


def render(sheet: ScoreSheet, width: int = 80) -> RenderableType:
    """Return the whole sheet as one renderable."""
    parts: list[RenderableType] = [Text.assemble((headline(sheet), "bold"), f"  {when(sheet)}")]
    if sheet.practise:
        advice = [Text(visible(line, lines=True)) for line in sheet.practise]
        parts += [Text(), _title("Practise next"), indented(*advice)]
    parts += [Text(), _title(score(sheet))]
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
