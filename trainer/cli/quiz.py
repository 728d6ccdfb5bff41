"""`attn-drill quiz`: ask questions, scheduled like the challenges."""

from __future__ import annotations

import contextlib
import os
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from random import Random
from typing import TYPE_CHECKING, Annotated

import typer

from trainer.app.open_packs import KnownPacks
from trainer.app.warn import warn, warn_journal
from trainer.model.errors import DrillError, PackError
from trainer.practice.journal import Journal, default_journal
from trainer.report.visible import visible

if TYPE_CHECKING:
    from trainer.quiz.drawn_questions import DrawnQuestion
    from trainer.quiz.question_order import QuestionPool, TopicQuestions

_GOOD, _AGAIN = 3, 1  # ratings in fsrs


def complete_topic(context: typer.Context, incomplete: str) -> list[str]:
    """Return the topics that begin with `incomplete`, for shell completion."""
    try:
        _, groups, _ = _all_questions(context.obj)
    except DrillError:  # `--pack` names no pack; the command will report it
        return []
    return [topic.name for group in groups for topic in group if topic.name.startswith(incomplete)]


def _all_questions(
    known_packs: KnownPacks,
) -> tuple[QuestionPool, tuple[list[TopicQuestions], list[TopicQuestions]], list[str]]:
    """Return the questions, their topics and warnings.

    The topics are two lists: the topics of the bank, and the challenges. There is a warning for
    each file that cannot be read.
    """
    from trainer.packs.mistakes import readable_mistakes
    from trainer.packs.question_bank import read_bank
    from trainer.quiz.question_order import pool_of, topics

    known = known_packs.catalogue()
    bank = read_bank(known.roots)
    mistakes, unreadable = readable_mistakes(known.challenges)
    pool = pool_of(bank.questions, known.challenges, mistakes)
    return pool, topics(bank.titles, known.challenges, pool), [*bank.troubles, *unreadable]


def quiz(
    context: typer.Context,
    topic: Annotated[
        str | None,
        typer.Option(
            "--topic",
            help="Only this topic, or questions about this challenge.",
            autocompletion=complete_topic,
        ),
    ] = None,
    count: Annotated[int, typer.Option("--count", help="How many questions.")] = 10,
    seed: Annotated[
        int | None, typer.Option("--seed", help="Draw the same questions again.")
    ] = None,
    as_list: Annotated[
        bool, typer.Option("--list", help="Show the topics and their numbers of questions.")
    ] = False,
) -> None:
    """Answer questions: compute numbers, choose answers, find wrong lines."""
    from trainer.quiz.question_order import order_items, questions_about

    for stream in (sys.stdin, sys.stdout):
        # Show a question mark for every character that the encoding lacks.
        getattr(stream, "reconfigure", lambda errors: None)(errors="replace")
    pool, groups, troubles = _all_questions(context.obj)
    warn(troubles)
    if as_list:
        _show_topics(groups)
        return
    if not 1 <= count <= 1000:
        raise DrillError(f"--count is {count}; it must be 1 to 1000.")
    if topic is not None:
        names = [entry.name for group in groups for entry in group]
        pool = questions_about(names, pool, topic)
    if not pool.questions and not pool.lines:
        raise DrillError(
            "There are no questions on this topic. "
            "`attn-drill quiz --list` shows the topics with questions."
        )
    from trainer.practice.schedule import items

    journal = default_journal()
    rng = Random(seed)
    now = time.time()
    chosen = order_items(pool, items(journal.reviews(), now), now, count, rng)
    _session(list(_draw(pool, chosen, rng)), journal)
    warn_journal(journal)
    journal.close()


def _draw(pool: QuestionPool, items: Iterable[str], rng: Random) -> Iterator[DrawnQuestion]:
    """Yield the questions of these items. Skip questions with errors, and warn on stderr."""
    for item in items:
        try:
            yield pool.ask(item, rng)
        except (PackError, ValueError) as error:
            warn([f"{item} is left out: {error}"])


def _show_topics(groups: tuple[list[TopicQuestions], list[TopicQuestions]]) -> None:
    width = shutil.get_terminal_size((80, 24)).columns
    longest = max((len(topic.name) for group in groups for topic in group), default=5)
    for group, heading in zip(groups, ("topic", "challenge"), strict=True):
        typer.echo(f"{heading:<{longest}}  questions  lines")
        for topic in group:
            title = f"  {topic.title}" if width >= longest + 20 + len(topic.title) else ""
            typer.echo(f"{topic.name:<{longest}}  {topic.questions:>9}  {topic.lines:>5}{title}")
        typer.echo()
    typer.echo("attn-drill quiz --topic NAME asks about NAME only.")


def _session(questions: list[DrawnQuestion], journal: Journal) -> None:
    """Ask questions until all are asked or the input ends. Record every answer at once."""
    from trainer.report.question_text import question, wrapped

    width = shutil.get_terminal_size((80, 24)).columns
    results: list[tuple[DrawnQuestion, bool]] = []
    typer.echo(wrapped("`?` shows an answer that you do not know; `q` ends.", width))
    try:
        for number, drawn in enumerate(questions, start=1):
            title = typer.style(f"{number} of {len(questions)}  {drawn.topic}", bold=_coloured())
            typer.echo(f"\n{title}\n{question(drawn, width)}\n")
            right = _answered(drawn, width, journal)
            if right is None:
                break
            results.append((drawn, right))
    finally:  # also after Ctrl-C
        _summarise(results, journal)


def _answered(question: DrawnQuestion, width: int, journal: Journal) -> bool | None:
    """Ask until an answer is understood. Show the right answer and record the review.

    Returns:
        True if the answer was right, or None if the input ended.
    """
    from trainer.quiz.drawn_questions import judge
    from trainer.report.question_text import prompt, wrapped

    while True:
        given = _read(prompt(question))
        if given is None or given.strip().lower() in ("q", "quit"):
            return None
        judged = judge(question, given)
        if judged.right is not None:
            break
        typer.echo(wrapped(judged.message, width))
    journal.record_review(
        question.item,
        time.time(),
        _GOOD if judged.right else _AGAIN,
        visible(given, lines=True).strip()[:80],
    )
    word = (
        typer.style("Right.", fg="blue" if _coloured() else None)
        if judged.right
        else typer.style("Wrong.", fg="yellow" if _coloured() else None)
    )
    typer.echo(word)
    typer.echo(
        wrapped(" ".join(filter(None, [judged.message, f"Answer: {question.answer}."])), width)
    )
    typer.echo(wrapped(question.explanation, width))
    return judged.right


def _summarise(results: list[tuple[DrawnQuestion, bool]], journal: Journal) -> None:
    from trainer.practice.schedule import items
    from trainer.report.question_text import summary

    if not results:
        typer.echo("\nNothing was answered.")
        return
    now = time.time()
    known = items([*journal.reviews("question:"), *journal.reviews("line:")], now)
    typer.echo("\n" + summary(results, [item for item in known.values() if not item.is_due(now)]))


def _coloured() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def _read(prompt: str) -> str | None:
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
