"""Plan a review that fits the learner's time, show the plan, and ask its light parts."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping
from random import Random
from typing import TYPE_CHECKING

import typer

from trainer.app.open_packs import KnownPacks
from trainer.app.start_challenge import language
from trainer.app.warn import say, warn
from trainer.cli.ask_questions import accept_all_characters
from trainer.cli.light_review import ReviewMaterial, ask_light_parts, part_words
from trainer.model.challenge import Challenge
from trainer.packs.follow_up import FollowUp, read_follow_ups
from trainer.practice.journal import Journal
from trainer.practice.progress import rated_reviews
from trainer.practice.review_plan import challenge_forms, due_follow_ups, due_forms, review_plan
from trainer.practice.schedule import items

if TYPE_CHECKING:
    from trainer.practice.review_plan import ReviewPlan
    from trainer.practice.schedule import ScheduledItem


def review_in(
    minutes: int,
    named: Challenge | None,
    known_packs: KnownPacks,
    journal: Journal,
    *,
    listed: bool = False,
) -> Challenge | None:
    """Plan a review, show the plan, and ask its light parts.

    Args:
        minutes: The minutes that the learner has.
        named: The only challenge to review, due or not. None: everything that is due.
        known_packs: The packs of this run.
        journal: The learner's journal.
        listed: Only show the plan.

    Returns:
        The challenge to write in full now, or None.
    """
    accept_all_characters()
    now = time.time()
    challenges = (named,) if named else known_packs.catalogue().challenges
    scheduled = {} if named else items(rated_reviews(journal.facts()), now)
    follow_ups = known_follow_ups(challenges, scheduled, now)
    material = ReviewMaterial({known.id: known for known in challenges}, follow_ups, known_packs)
    due = [challenge_forms(named)] if named else due_forms(scheduled, challenges, follow_ups, now)
    if not due:
        say("Nothing is due today. `attn-drill review --list` shows what is due and when.")
        return None
    plan = review_plan(due, minutes)
    _show_plan(plan, minutes, material)
    if listed:
        return None
    if not ask_light_parts(plan.light, material, journal, Random()):
        typer.echo("Stopped. All grades so far are recorded.")
        return None
    if not plan.rewrites:
        return None
    first, *later = [material.challenges[material.name_of(part)] for part in plan.rewrites]
    typer.echo(f"\nNow write {first.id} in full ({first.minutes} min).")
    for challenge in later:
        pack_option = known_packs.pack_option(challenge)
        typer.echo(f"Later: `attn-drill review {challenge.id}{pack_option}`.")
    typer.echo()
    return first


def known_follow_ups(
    challenges: Iterable[Challenge], scheduled: Mapping[str, ScheduledItem], now: float
) -> dict[str, FollowUp]:
    """Return the follow-up questions of the challenges that have due ones, by item.

    Warn about files that cannot be read.
    """
    counts = due_follow_ups(scheduled.values(), now)
    if not counts:
        return {}
    asked = tuple(challenge for challenge in challenges if challenge.id in counts)
    found, troubles = read_follow_ups(asked, language())
    warn(troubles)
    return {follow_up.item: follow_up for follow_up in found}


def _show_plan(plan: ReviewPlan, minutes: int, material: ReviewMaterial) -> None:
    typer.echo(f"{plan.minutes} of {minutes} minutes:")
    longest = max(
        (len(material.name_of(part)) for part in (*plan.light, *plan.rewrites)), default=0
    )
    for part in (*plan.light, *plan.rewrites):
        words = f"{part.minutes:>3} min  {part_words(part)}"
        typer.echo(f"  {material.name_of(part):<{longest}}  {words}")
    if count := len(plan.left_out):
        typer.echo("1 more item stays due." if count == 1 else f"{count} more items stay due.")
