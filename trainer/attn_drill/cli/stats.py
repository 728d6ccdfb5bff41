"""`attn-drill stats`: show days, topics, times, mistakes, and the next and due challenges."""

from __future__ import annotations

import time

import typer

from attn_drill.app.warn import say, say_json, warn
from attn_drill.cli.parameters import AsJson, Desk
from attn_drill.practice.facts import Attempted, Diagnosed, Reviewed


def stats(context: typer.Context, as_json: AsJson = False) -> None:
    """Show your progress: days, topics, times, mistakes, next challenges."""
    from attn_drill.packs.mistakes import readable_mistakes
    from attn_drill.packs.question_bank import read_bank
    from attn_drill.practice.statistics import statistics
    from attn_drill.report.literal import console
    from attn_drill.report.statistics_text import EMPTY, as_values, render

    desk: Desk = context.obj
    catalogue = desk.packs.catalogue()
    bank = read_bank(catalogue.roots)
    facts = desk.journal.facts()
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
