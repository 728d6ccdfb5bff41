"""`attn-drill stats`: days, topics, times, your own mistakes, what comes next and what is due."""

from __future__ import annotations

import json
import sys
import time
from typing import Annotated

import typer

from trainer.cli.common import say_trouble
from trainer.content.mistakes import read_mistakes
from trainer.content.packs import built_in_pack, read_pack
from trainer.practice.journal import default_journal


def stats(as_json: Annotated[bool, typer.Option("--json", help="One JSON object on stdout and nothing else.")] = False) -> None:
    """Show your progress: days, topics, times, mistakes, what comes next."""
    from trainer.content.questions import read_topics
    from trainer.display.stats import EMPTY, as_values, show_stats
    from trainer.practice.stats import statistics

    pack = built_in_pack()
    challenges = read_pack(pack)
    journal = default_journal()
    attempts, reviews, starts = journal.attempts(), journal.reviews(), journal.starts()
    say_trouble(journal)
    made = {one.challenge for one in attempts if one.mistakes}
    mistakes = {one.id: read_mistakes(one) for one in challenges if one.id in made}
    now = time.time()
    found = statistics(attempts, reviews, challenges, mistakes, now, starts=starts)
    titles = read_topics(pack)
    if as_json:
        typer.echo(json.dumps(as_values(found, titles), allow_nan=False))
    elif not attempts and not reviews:
        typer.echo(EMPTY)
    else:
        show_stats(found, titles, now, sys.stdout)
