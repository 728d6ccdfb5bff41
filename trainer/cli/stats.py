"""`attn-drill stats`: show days, topics, times, mistakes, and the next and due challenges."""

from __future__ import annotations

import time

import typer

from trainer.app.open_packs import KnownPacks
from trainer.app.warn import say, say_json, warn, warn_journal
from trainer.cli.parameters import AsJson
from trainer.practice.facts import Attempted, Diagnosed, Reviewed
from trainer.practice.journal import default_journal


def stats(context: typer.Context, as_json: AsJson = False) -> None:
    """Show your progress: days, topics, times, mistakes, next challenges."""
    from trainer.packs.mistakes import readable_mistakes
    from trainer.packs.question_bank import read_bank
    from trainer.practice.statistics import statistics
    from trainer.report.literal import console
    from trainer.report.statistics_text import EMPTY, as_values, render

    known_packs: KnownPacks = context.obj
    catalogue = known_packs.catalogue()
    bank = read_bank(catalogue.roots)
    journal = default_journal()
    facts = journal.facts()
    warn_journal(journal)
    diagnosed = {fact.subject for fact in facts if isinstance(fact, Diagnosed)}
    mistakes, troubles = readable_mistakes(
        challenge for challenge in catalogue.challenges if challenge.id in diagnosed
    )
    warn(troubles)
    now = time.time()
    learner = statistics(facts, catalogue.challenges, mistakes, now)
    if as_json:
        say_json(as_values(learner, bank.titles))
    elif not any(isinstance(fact, Attempted | Reviewed) for fact in facts):
        say(EMPTY)
    else:
        out = console()
        out.print(render(learner, bank.titles, now, out.width))
