"""Ask questions, gaps and follow-up questions line by line: on a terminal, or from a pipe."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import typer

from attn_drill.model.challenge import Submission
from attn_drill.practice.facts import Reviewed
from attn_drill.practice.journal import Journal
from attn_drill.report.wording import visible

if TYPE_CHECKING:
    from attn_drill.exercises.altered_reference import GapExercise
    from attn_drill.exercises.questions import DrawnQuestion, Judged
    from attn_drill.model.report import Report
    from attn_drill.packs.question_bank import FollowUp

T = TypeVar("T")
Grade = Callable[[Submission], "Report"]

_GOOD, _AGAIN = 3, 1  # ratings in fsrs


class StoppedError(Exception):
    """The learner typed `q`, or the input ended. The question is not answered."""


def typed(
    label: str, meaning_of: Callable[[str], T | None], ends: tuple[str, ...] = ("q", "quit")
) -> T:
    """Read lines until one has a meaning, and return it.

    Args:
        label: is shown before the place where the learner types.
        meaning_of: returns the meaning of a line, or None after it has said what to type.
        ends: the words that stop.
    """
    while True:
        line = read_line(label)
        if line is None or line.strip().lower() in ends:
            raise StoppedError
        meaning = meaning_of(line.strip())
        if meaning is not None:
            return meaning


def ask_question(question: DrawnQuestion, journal: Journal) -> bool:
    """Ask a question, show the right answer and record the review. Return whether it was right."""
    from attn_drill.exercises.questions import Judged
    from attn_drill.report import question_text

    text = question_text.question(question, width())
    if question.code and is_coloured():
        # Imported only here, because rich would delay every other question.
        from attn_drill.report.code_text import highlighted

        text = question_text.question(question, width(), highlighted)
    typer.echo(f"{text}\n")

    def meaning_of(line: str) -> tuple[str, Judged] | None:
        judged = Judged(False) if line == "?" else question.judge(line)
        if judged.right is None:
            say_wrapped(judged.message)
            return None
        return line, judged

    line, judged = typed(question_text.prompt(question), meaning_of)
    reason = visible(line, lines=True)[:80]
    rating = _GOOD if judged.right else _AGAIN
    journal.add(Reviewed(question.item, time.time(), rating=rating, reason=reason))
    _say_verdict(line, is_right=bool(judged.right))
    say_wrapped(" ".join(filter(None, [judged.message, f"Answer: {question.answer}."])))
    say_wrapped(question.explanation)
    return bool(judged.right)


def ask_follow_up(follow_up: FollowUp, journal: Journal) -> None:
    """Show a question, then its model answer, and record the learner's own rating."""
    _show_prose(follow_up.question)
    typed("Think, then press Enter. ", lambda _: True)
    _show_prose(follow_up.answer)

    def rating_of(line: str) -> int | None:
        if line in ("1", "2", "3", "4"):
            return int(line)
        typer.echo("Answer with a number, 1 to 4. `q` ends.")
        return None

    rating = typed("1 again  2 hard  3 good  4 easy: ", rating_of)
    journal.add(Reviewed(follow_up.item, time.time(), rating=rating, reason="own rating"))


def ask_gaps(exercise: GapExercise, grade: Grade) -> int:
    """Ask for the code of each gap, and return how many answers are right."""
    from attn_drill.report.question_text import shifted

    typer.echo(f"\n{shifted(exercise.code, width())}\n")
    say_wrapped(
        "Type the code that stands in each gap; it is graded like an answer in full. "
        "`?` shows an answer that you do not know; `quit` ends."
    )
    if exercise.code.count("____") > len(exercise.gaps):
        say_wrapped("A gap without a number is not asked: it hides code that is like an answer.")
    return sum(_is_filled(exercise, number, grade) for number in range(1, len(exercise.gaps) + 1))


def _is_filled(exercise: GapExercise, number: int, grade: Grade) -> bool:
    """Ask for a gap, and show the code of the reference if the answer is not right."""
    from attn_drill.exercises.altered_reference import typed_expression
    from attn_drill.report.question_text import shifted

    name, gap = f"____{number}", exercise.gaps[number - 1]
    line = next(line for line in exercise.code.splitlines() if name in line)
    typer.echo(f"\n{shifted(line.strip(), width())}")

    def meaning_of(line: str) -> str | None:
        code = line if line == "?" else typed_expression(line)
        if code is None:
            say_wrapped("That is no Python expression. Type the code of the gap, or `?`.")
        return code

    # `q` is the name of a tensor in most references, so it does not end the gaps.
    code = typed(f"{name} = ", meaning_of, ends=("quit",))
    report = None
    if code != "?":
        report = grade(Submission("gap.py", gap.filled(exercise.source, code)))
    is_right = report is not None and report.verdict == "passed"
    _say_verdict(code, is_right=is_right)
    if not is_right:
        if report is not None:
            say_wrapped(_reason(report))
        typer.echo(f"The reference has:\n{shifted(gap.right, width())}")
    return is_right


def _reason(report: Report) -> str:
    """Return the known mistakes of a wrong answer, or else its first failure."""
    if report.diagnosis is not None and report.diagnosis.mistakes:
        return " ".join(mistake.says for mistake in report.diagnosis.mistakes)
    failure = report.first_failure()
    message = "" if failure is None else failure.message
    # The learner does not see the numbers of the reference's lines.
    message = re.sub(r" at line \d+| \(line \d+\)", "", message)
    return f"{visible(message).rstrip('.')}."


def _say_verdict(line: str, *, is_right: bool) -> None:
    if line == "?":
        typer.echo("Noted as not known.")
        return
    word, colour = ("Right.", "blue") if is_right else ("Wrong.", "yellow")
    typer.echo(typer.style(word, fg=colour if is_coloured() else None))


def _show_prose(prose: str) -> None:
    """Print prose in the width of the terminal. rich also divides Chinese, which has no blanks."""
    from rich.text import Text

    from attn_drill.report.code_text import console
    from attn_drill.report.lesson_text import prose_of
    from attn_drill.report.wording import WIDEST

    out = console(sys.stdout)
    typer.echo()
    for line in Text(prose_of(prose)).wrap(out, min(out.width, WIDEST)):
        typer.echo(line.plain.rstrip())
    typer.echo()


def show_title(title: str) -> None:
    typer.echo("\n" + typer.style(title, bold=is_coloured()))


def say_wrapped(text: str) -> None:
    """Print prose in the width of the terminal, into a pipe too."""
    from attn_drill.report.wording import wrapped

    typer.echo(wrapped(text, width()))


def width() -> int:
    return shutil.get_terminal_size((80, 24)).columns


def is_coloured() -> bool:
    """Return whether the output may have colours."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def accept_all_characters() -> None:
    """Show a question mark for every character that the encoding of a stream lacks."""
    for stream in (sys.stdin, sys.stdout):
        getattr(stream, "reconfigure", lambda errors: None)(errors="replace")


def read_line(label: str) -> str | None:
    """Return a line of input, or None at the end of the input.

    Print the lines from a pipe, so that the output looks like a session on a terminal.
    """
    if sys.stdin.isatty() and sys.stdout.isatty():
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401  # input() edits the line with it
        try:
            return input(label)
        except EOFError:
            typer.echo()
            return None
    typer.echo(label, nl=False)
    line = sys.stdin.readline()
    typer.echo(line.rstrip("\r\n"))
    return line or None
