"""`attn-drill stats`: show days, topics, times, mistakes, and the next and due challenges."""

from __future__ import annotations

import json
import sys
import time
from typing import Annotated

import typer

from trainer.app.open_packs import KnownPacks
from trainer.app.warn import warn, warn_journal
from trainer.practice.journal import default_journal
from trainer.practice.progress import counted_attempts, rated_reviews, start_times


def stats(
    context: typer.Context,
    as_json: Annotated[
        bool, typer.Option("--json", help="One JSON object on stdout and nothing else.")
    ] = False,
) -> None:
    """Show your progress: days, topics, times, mistakes, next challenges."""
    from trainer.packs.mistakes import readable_mistakes
    from trainer.packs.question_bank import read_bank
    from trainer.practice.statistics import statistics
    from trainer.report.statistics_text import EMPTY, as_values, show_stats

    known_packs: KnownPacks = context.obj
    known = known_packs.catalogue()
    bank = read_bank(known.roots)
    journal = default_journal()
    facts = journal.facts()
    attempts, reviews = counted_attempts(facts), rated_reviews(facts)
    warn_journal(journal)
    diagnosed = {attempt.challenge for attempt in attempts if attempt.mistakes}
    mistakes, troubles = readable_mistakes(
        challenge for challenge in known.challenges if challenge.id in diagnosed
    )
    warn(troubles)
    now = time.time()
    starts = start_times(facts)
    learner = statistics(attempts, reviews, known.challenges, mistakes, now, starts=starts)
    if as_json:
        typer.echo(json.dumps(as_values(learner, bank.titles), allow_nan=False))
    elif not attempts and not reviews:
        typer.echo(EMPTY)
    else:
        show_stats(learner, bank.titles, now, sys.stdout)
