"""`attn-drill quiz`: ask questions, scheduled like the challenges."""

from __future__ import annotations

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from random import Random
from typing import TYPE_CHECKING, Annotated

import typer

from attn_drill.app.open_packs import KnownPacks
from attn_drill.app.warn import say_json, warn
from attn_drill.cli import _ask
from attn_drill.cli._command_line import AsJson, Desk, complete_id, in_columns
from attn_drill.model.errors import DrillError, PackError
from attn_drill.practice.journal import Journal
from attn_drill.practice.progress import ChallengeProgress, progress_of, rated_reviews, since_start

if TYPE_CHECKING:
    from attn_drill.exercises.questions import DrawnQuestion, QuestionPool

_TOPIC = typer.Option(help="Only this topic, or questions about this challenge.")
_COUNT = typer.Option(min=1, max=1000, help="How many questions.")
_SEED = typer.Option(help="Draw the same questions again.")
_LIST = typer.Option("--list", help="Show the topics and their numbers of questions.")
_FOLLOW_UP = typer.Option(
    "--follow-up",
    metavar="ID",
    help="Ask the follow-up questions of a passed challenge, with model answers.",
    autocompletion=complete_id,
)


@dataclass(frozen=True)
class Questions:
    """All questions of the packs."""

    pool: QuestionPool
    topics: Mapping[str, str]  # the titles of the topics of the bank, by name
    challenges: Mapping[str, str]  # their titles by id
    troubles: tuple[str, ...]  # a sentence for each file that cannot be read


def all_questions(packs: KnownPacks) -> Questions:
    from attn_drill.exercises.questions import pool_of
    from attn_drill.packs.mistakes import readable_mistakes
    from attn_drill.packs.question_bank import read_bank

    catalogue = packs.catalogue()
    bank = read_bank(catalogue.roots)
    mistakes, unreadable = readable_mistakes(catalogue.challenges)
    pool = pool_of(bank.questions, catalogue.challenges, mistakes)
    challenges = {challenge.id: challenge.title for challenge in catalogue.challenges}
    return Questions(pool, bank.titles, challenges, (*bank.troubles, *unreadable))


def quiz(
    context: typer.Context,
    topic: Annotated[str | None, _TOPIC] = None,
    count: Annotated[int, _COUNT] = 10,
    seed: Annotated[int | None, _SEED] = None,
    as_list: Annotated[bool, _LIST] = False,
    follow_up: Annotated[str | None, _FOLLOW_UP] = None,
    as_json: AsJson = False,
) -> None:
    """Answer questions: compute numbers, choose answers, find wrong lines."""
    if as_json and not as_list:
        raise DrillError("--json prints the list of topics: add --list.")
    _ask.accept_all_characters()
    desk: Desk = context.obj
    if follow_up is not None:
        _ask_follow_ups(follow_up, desk)
        return
    from attn_drill.exercises.questions import known_name

    questions = all_questions(desk.packs)
    warn(questions.troubles)
    if as_list:
        _show_topics(questions, as_json=as_json)
        return
    pool = questions.pool
    if topic is not None:
        pool = pool.about(known_name([*questions.topics, *questions.challenges], topic))
    if not pool.questions and not pool.lines:
        raise DrillError(
            "There are no questions on this topic. "
            "`attn-drill quiz --list` shows the topics with questions."
        )
    _ask_questions(pool, count, Random(seed), desk.journal)


def _ask_follow_ups(challenge_id: str, desk: Desk) -> None:
    """Ask all follow-up questions of a challenge whose answers the learner may see."""
    from attn_drill.app.open_packs import settings
    from attn_drill.packs.question_bank import follow_ups

    challenge, journal = desk.packs.find(challenge_id), desk.journal
    facts = journal.facts(subject=challenge.id)
    progress = progress_of(facts).get(challenge.id, ChallengeProgress())
    if progress.state != "passed" and not since_start(facts).solution:
        option = desk.packs.pack_option(challenge)
        raise DrillError(
            f"{challenge.id} is not passed yet. The answers come after the pass: "
            f"`attn-drill start {challenge.id}{option}`."
        )
    questions = [entry for entry in follow_ups(challenge, settings().language) if entry.answer]
    if not questions:
        raise DrillError(
            f"{challenge.id} has no follow-up questions with answers. "
            f"`attn-drill quiz --topic {challenge.id}` asks other questions about it."
        )
    rated = 0
    with suppress(_ask.StoppedError):
        for number, question in enumerate(questions, start=1):
            if len(questions) > 1:
                _ask.show_title(f"{number} of {len(questions)}  {challenge.id}")
            _ask.ask_follow_up(question, journal)
            rated = number
    typer.echo(f"\n{rated} of {len(questions)} rated.")


def _show_topics(questions: Questions, *, as_json: bool) -> None:
    """Show how many questions and lines each topic and each challenge has."""
    titles = {"topic": questions.topics, "challenge": questions.challenges}
    groups: dict[str, list[dict[str, object]]] = {kind: [] for kind in titles}
    for kind, group in groups.items():
        for name, title in titles[kind].items():
            pool = questions.pool.about(name)
            counts = {"questions": len(pool.questions), "lines": len(pool.lines)}
            group.append({"name": name, **counts, "title": title})
    if as_json:
        say_json(groups)
        return
    for kind, group in groups.items():
        cells = [[str(cell) for cell in row.values()] for row in group]
        for line in in_columns([kind, "questions", "lines", "title"], cells, _ask.width()):
            typer.echo(line)
        typer.echo()
    typer.echo("attn-drill quiz --topic NAME asks about NAME only.")


def _ask_questions(pool: QuestionPool, count: int, rng: Random, journal: Journal) -> None:
    """Ask questions until all are asked or the learner stops. Skip questions with errors."""
    from attn_drill.exercises.questions import order_items
    from attn_drill.practice.schedule import items
    from attn_drill.report.question_text import progress_line, summary

    now = time.time()
    reviewed = items(rated_reviews(journal.facts()), now)
    questions: list[DrawnQuestion] = []
    for item in order_items(pool, reviewed, now, count, rng):
        try:
            questions.append(pool.ask(item, rng))
        except (PackError, ValueError) as error:
            warn([f"{item} is left out: {error}"])
    _ask.say_wrapped(progress_line(pool, reviewed, now))
    _ask.say_wrapped("`?` shows an answer that you do not know; `q` ends.")
    results: list[tuple[DrawnQuestion, bool]] = []
    try:
        for number, drawn in enumerate(questions, start=1):
            _ask.show_title(f"{number} of {len(questions)}  {drawn.topic}")
            results.append((drawn, _ask.ask_question(drawn, journal)))
    except _ask.StoppedError:
        pass
    finally:  # also after Ctrl-C
        if results:
            now = time.time()
            reviewed = items(rated_reviews(journal.facts(), "question:", "line:"), now)
            coming = [item for item in reviewed.values() if not item.is_due(now)]
            typer.echo("\n" + summary(results, coming))
            _ask.say_wrapped(progress_line(pool, reviewed, now))
        else:
            typer.echo("\nNothing was answered.")
