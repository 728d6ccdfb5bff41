"""Ask questions line by line: on a terminal, or with answers from a pipe."""

from __future__ import annotations

import contextlib
import os
import sys
import time
from typing import TYPE_CHECKING

import typer

from trainer.practice.facts import Reviewed
from trainer.practice.journal import Journal
from trainer.report.visible import visible

if TYPE_CHECKING:
    from trainer.quiz.drawn_questions import DrawnQuestion

_GOOD, _AGAIN = 3, 1  # ratings in fsrs


def accept_all_characters() -> None:
    """Show a question mark for every character that the encoding of a stream lacks."""
    for stream in (sys.stdin, sys.stdout):
        getattr(stream, "reconfigure", lambda errors: None)(errors="replace")


def answered(question: DrawnQuestion, width: int, journal: Journal) -> bool | None:
    """Ask until an answer is understood. Show the right answer and record the review.

    Returns:
        True if the answer was right, or None if the input ended.
    """
    from trainer.quiz.drawn_questions import Judged
    from trainer.report.question_text import prompt
    from trainer.report.wording import wrapped

    while True:
        given = read_line(prompt(question))
        if given is None or given.strip().lower() in ("q", "quit"):
            return None
        is_known = given.strip() != "?"
        judged = question.judge(given) if is_known else Judged(False)
        if judged.right is not None:
            break
        typer.echo(wrapped(judged.message, width))
    journal.add(
        Reviewed(
            question.item,
            time.time(),
            rating=_GOOD if judged.right else _AGAIN,
            reason=visible(given, lines=True).strip()[:80],
        )
    )
    if is_known:
        word, colour = ("Right.", "blue") if judged.right else ("Wrong.", "yellow")
        typer.echo(typer.style(word, fg=colour if is_coloured() else None))
    else:
        typer.echo("Noted as not known.")
    typer.echo(
        wrapped(" ".join(filter(None, [judged.message, f"Answer: {question.answer}."])), width)
    )
    typer.echo(wrapped(question.explanation, width))
    return judged.right


def question_in_colour(question: DrawnQuestion, width: int) -> str:
    """Return the text of a question. Its code has colours if the output may have colours."""
    from trainer.report import question_text

    if not question.code or not is_coloured():
        return question_text.question(question, width)
    # Imported only here, because rich would delay every other question.
    from trainer.report.highlight import highlighted

    return question_text.question(question, width, highlighted)


def is_coloured() -> bool:
    """Return whether the output may have colours."""
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def read_line(prompt: str) -> str | None:
    """Return a line of input, or None at the end of the input.

    Print the lines from a pipe, so that the output looks like a session on a terminal.
    """
    if sys.stdin.isatty() and sys.stdout.isatty():
        with contextlib.suppress(ImportError):
            import readline  # noqa: F401  # input() edits the line with it
        try:
            return input(prompt)
        except EOFError:
            typer.echo()
            return None
    typer.echo(prompt, nl=False)
    line = sys.stdin.readline()
    typer.echo(line.rstrip("\r\n"))
    return line or None
