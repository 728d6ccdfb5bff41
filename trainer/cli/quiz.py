"""`attn-drill quiz`: ask questions, scheduled like the challenges."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterable, Iterator, Mapping
from random import Random
from typing import TYPE_CHECKING, Annotated

import typer

from trainer.app.open_packs import KnownPacks
from trainer.app.warn import warn, warn_journal
from trainer.cli.ask_questions import (
    accept_all_characters,
    answered,
    is_coloured,
    question_in_colour,
)
from trainer.cli.parameters import complete_id
from trainer.model.errors import DrillError, PackError
from trainer.practice.journal import Journal, default_journal
from trainer.practice.progress import rated_reviews

if TYPE_CHECKING:
    from trainer.practice.schedule import ScheduledItem
    from trainer.quiz.drawn_questions import DrawnQuestion
    from trainer.quiz.question_order import QuestionPool


def complete_topic(context: typer.Context, incomplete: str) -> list[str]:
    """Return the topics that begin with `incomplete`, for shell completion."""
    try:
        _, groups, _ = _all_questions(context.obj)
    except DrillError:  # `--pack` names no pack; the command will report it
        return []
    return [name for titles in groups for name in titles if name.startswith(incomplete)]


def _all_questions(
    known_packs: KnownPacks,
) -> tuple[QuestionPool, tuple[Mapping[str, str], Mapping[str, str]], list[str]]:
    """Return the questions, the titles of their topics by name, and warnings.

    The topics of the bank come first, then the challenges. There is a warning for each file that
    cannot be read.
    """
    from trainer.packs.mistakes import readable_mistakes
    from trainer.packs.question_bank import read_bank
    from trainer.quiz.question_order import pool_of

    known = known_packs.catalogue()
    bank = read_bank(known.roots)
    mistakes, unreadable = readable_mistakes(known.challenges)
    pool = pool_of(bank.questions, known.challenges, mistakes)
    challenges = {challenge.id: challenge.title for challenge in known.challenges}
    return pool, (bank.titles, challenges), [*bank.troubles, *unreadable]


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
    follow_up: Annotated[
        str | None,
        typer.Option(
            "--follow-up",
            metavar="ID",
            help="Ask the follow-up questions of a passed challenge, with model answers.",
            autocompletion=complete_id,
        ),
    ] = None,
) -> None:
    """Answer questions: compute numbers, choose answers, find wrong lines."""
    if follow_up is not None:
        from trainer.cli.ask_follow_ups import ask_about

        ask_about(follow_up, context.obj)
        return
    from trainer.quiz.question_order import known_name, order_items

    accept_all_characters()
    pool, groups, troubles = _all_questions(context.obj)
    warn(troubles)
    if as_list:
        _show_topics(groups, pool)
        return
    if not 1 <= count <= 1000:
        raise DrillError(f"--count is {count}; it must be 1 to 1000.")
    if topic is not None:
        pool = pool.about(known_name([name for titles in groups for name in titles], topic))
    if not pool.questions and not pool.lines:
        raise DrillError(
            "There are no questions on this topic. "
            "`attn-drill quiz --list` shows the topics with questions."
        )
    from trainer.practice.schedule import items

    journal = default_journal()
    rng = Random(seed)
    now = time.time()
    reviewed = items(rated_reviews(journal.facts()), now)
    chosen = order_items(pool, reviewed, now, count, rng)
    _show_progress(pool, reviewed, now)
    _session(list(_draw(pool, chosen, rng)), pool, journal)
    warn_journal(journal)
    journal.close()


def _draw(pool: QuestionPool, items: Iterable[str], rng: Random) -> Iterator[DrawnQuestion]:
    """Yield the questions of these items. Skip questions with errors, and warn on stderr."""
    for item in items:
        try:
            yield pool.ask(item, rng)
        except (PackError, ValueError) as error:
            warn([f"{item} is left out: {error}"])


def _show_topics(groups: tuple[Mapping[str, str], Mapping[str, str]], pool: QuestionPool) -> None:
    width = shutil.get_terminal_size((80, 24)).columns
    longest = max((len(name) for titles in groups for name in titles), default=5)
    for titles, heading in zip(groups, ("topic", "challenge"), strict=True):
        typer.echo(f"{heading:<{longest}}  questions  lines")
        for name, title in titles.items():
            about = pool.about(name)
            row = f"{name:<{longest}}  {len(about.questions):>9}  {len(about.lines):>5}"
            typer.echo(f"{row}  {title}" if width >= len(row) + 2 + len(title) else row)
        typer.echo()
    typer.echo("attn-drill quiz --topic NAME asks about NAME only.")


def _show_progress(pool: QuestionPool, reviewed: Mapping[str, ScheduledItem], now: float) -> None:
    from trainer.quiz.bank_progress import bank_progress
    from trainer.report.question_text import progress_line
    from trainer.report.wording import wrapped

    width = shutil.get_terminal_size((80, 24)).columns
    typer.echo(wrapped(progress_line(bank_progress(pool, reviewed, now)), width))


def _session(questions: list[DrawnQuestion], pool: QuestionPool, journal: Journal) -> None:
    """Ask questions until all are asked or the input ends. Record every answer at once."""
    from trainer.report.wording import wrapped

    width = shutil.get_terminal_size((80, 24)).columns
    results: list[tuple[DrawnQuestion, bool]] = []
    typer.echo(wrapped("`?` shows an answer that you do not know; `q` ends.", width))
    try:
        for number, drawn in enumerate(questions, start=1):
            title = typer.style(f"{number} of {len(questions)}  {drawn.topic}", bold=is_coloured())
            typer.echo(f"\n{title}\n{question_in_colour(drawn, width)}\n")
            right = answered(drawn, width, journal)
            if right is None:
                break
            results.append((drawn, right))
    finally:  # also after Ctrl-C
        _summarise(results, pool, journal)


def _summarise(
    results: list[tuple[DrawnQuestion, bool]], pool: QuestionPool, journal: Journal
) -> None:
    from trainer.practice.schedule import items
    from trainer.report.question_text import summary

    if not results:
        typer.echo("\nNothing was answered.")
        return
    now = time.time()
    known = items(rated_reviews(journal.facts(), "question:", "line:"), now)
    typer.echo("\n" + summary(results, [item for item in known.values() if not item.is_due(now)]))
    _show_progress(pool, known, now)
