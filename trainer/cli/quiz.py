"""`attn-drill quiz`: questions one by one, scheduled like the challenges."""

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

_GOOD, _AGAIN = 3, 1  # ratings of fsrs


def complete_topic(context: typer.Context, incomplete: str) -> list[str]:
    """Return the topics that begin with `incomplete`, for shell completion."""
    try:
        _, groups, _ = _all_questions(context.obj)
    except DrillError:  # `--pack` names no pack; the command will report it
        return []
    return [one.name for some in groups for one in some if one.name.startswith(incomplete)]


def _all_questions(
    known_packs: KnownPacks,
) -> tuple[QuestionPool, tuple[list[TopicQuestions], list[TopicQuestions]], list[str]]:
    """What may be asked, the topics of the bank and the challenges, and a sentence for what cannot be read."""
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
            help="Only this topic, or what follows up this challenge.",
            autocompletion=complete_topic,
        ),
    ] = None,
    count: Annotated[int, typer.Option("--count", help="How many questions.")] = 10,
    seed: Annotated[int | None, typer.Option("--seed", help="Draw the same again.")] = None,
    as_list: Annotated[
        bool, typer.Option("--list", help="Show the topics, and how many questions each has.")
    ] = False,
) -> None:
    """Answer questions: numbers to compute, answers to choose, lines to find."""
    from trainer.quiz.question_order import about, order

    for stream in (sys.stdin, sys.stdout):
        # What another encoding lacks is shown as a question mark.
        getattr(stream, "reconfigure", lambda errors: None)(errors="replace")
    pool, groups, troubles = _all_questions(context.obj)
    warn(troubles)
    if as_list:
        _show_topics(groups)
        return
    if not 1 <= count <= 1000:
        raise DrillError(f"--count is {count}; it must be 1 to 1000.")
    if topic is not None:
        pool = about([one.name for some in groups for one in some], pool, topic)
    if not pool.questions and not pool.lines:
        raise DrillError(
            "There are no questions here. `attn-drill quiz --list` shows the topics that have some."
        )
    from trainer.practice.schedule import items

    journal = default_journal()
    rng = Random(seed)
    now = time.time()
    asked = order(pool, items(journal.reviews(), now), now, count, rng)
    _session(list(_put(pool, asked, rng)), journal)
    warn_journal(journal)
    journal.close()


def _put(pool: QuestionPool, items: Iterable[str], rng: Random) -> Iterator[DrawnQuestion]:
    """The questions of these items; what a pack has wrong is said on stderr, and not asked."""
    for item in items:
        try:
            yield pool.ask(item, rng)
        except (PackError, ValueError) as error:
            warn([f"{item} is left out: {error}"])


def _show_topics(groups: tuple[list[TopicQuestions], list[TopicQuestions]]) -> None:
    width = shutil.get_terminal_size((80, 24)).columns
    longest = max((len(one.name) for some in groups for one in some), default=5)
    for some, word in zip(groups, ("topic", "challenge"), strict=True):
        typer.echo(f"{word:<{longest}}  questions  lines")
        for one in some:
            title = f"  {one.title}" if width >= longest + 20 + len(one.title) else ""
            typer.echo(f"{one.name:<{longest}}  {one.questions:>9}  {one.lines:>5}{title}")
        typer.echo()
    typer.echo("attn-drill quiz --topic NAME asks about one.")


def _session(questions: list[DrawnQuestion], journal: Journal) -> None:
    """Ask until all are asked or the input ends; every answer is kept at once."""
    from trainer.report.question_text import question, wrapped

    width = shutil.get_terminal_size((80, 24)).columns
    results: list[tuple[DrawnQuestion, bool]] = []
    typer.echo(wrapped("`?` shows an answer that you do not know; `q` ends.", width))
    try:
        for number, asked in enumerate(questions, start=1):
            typer.echo(
                f"\n{typer.style(f'{number} of {len(questions)}  {asked.topic}', bold=_coloured())}\n{question(asked, width)}\n"
            )
            right = _answered(asked, width, journal)
            if right is None:
                break
            results.append((asked, right))
    finally:  # after Ctrl-C too
        _summarise(results, journal)


def _answered(asked: DrawnQuestion, width: int, journal: Journal) -> bool | None:
    """Ask until an answer is understood, show what it was worth and keep it; None where there is none any more."""
    from trainer.quiz.drawn_questions import judge
    from trainer.report.question_text import prompt, wrapped

    while True:
        given = _read(prompt(asked))
        if given is None or given.strip().lower() in ("q", "quit"):
            return None
        judged = judge(asked, given)
        if judged.right is not None:
            break
        typer.echo(wrapped(judged.message, width))
    journal.record_review(
        asked.item,
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
    typer.echo(wrapped(" ".join(filter(None, [judged.message, f"Answer: {asked.answer}."])), width))
    typer.echo(wrapped(asked.explanation, width))
    return judged.right


def _summarise(results: list[tuple[DrawnQuestion, bool]], journal: Journal) -> None:
    from trainer.practice.schedule import items
    from trainer.report.question_text import summary

    if not results:
        typer.echo("\nNothing was answered.")
        return
    now = time.time()
    known = items([*journal.reviews("question:"), *journal.reviews("line:")], now)
    typer.echo("\n" + summary(results, [one for one in known.values() if not one.is_due(now)]))


def _coloured() -> bool:
    return sys.stdout.isatty() and not os.environ.get("NO_COLOR")


def _read(prompt: str) -> str | None:
    """A line of input, or None at its end; what comes through a pipe is shown as if it were typed."""
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
