"""`attn-drill review`: hand out the next challenge that is due, with a blank stub."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from attn_drill.app.open_packs import KnownPacks
from attn_drill.app.settings import LEAST_MINUTES, MOST_MINUTES, settings
from attn_drill.app.warn import say, say_json, warn_journal
from attn_drill.cli.parameters import AsJson
from attn_drill.model.challenge import Challenge
from attn_drill.model.errors import DrillError
from attn_drill.model.quantities import plural
from attn_drill.practice.facts import Overruled
from attn_drill.practice.journal import Journal, default_journal
from attn_drill.practice.progress import progress_of, rated_reviews
from attn_drill.practice.schedule import RATINGS, item_of

if TYPE_CHECKING:
    from attn_drill.practice.agenda import AgendaEntry

_LESS_TIME = "In short: `attn-drill review --minutes 15`."
_ID = typer.Argument(metavar="[ID]", help="This challenge, due or not; by default the longest due.")
_WATCH = typer.Option(
    "--watch/--no-watch", help="Stay and grade every save, if this is a terminal."
)
_GRADE = typer.Option("--grade", help="Overrule the grade of the last review, or of ID's last.")
_MINUTES = typer.Option(
    "--minutes",
    min=LEAST_MINUTES,
    max=MOST_MINUTES,
    help="Review what fits into this time, most of it in short.",
)


def review(
    context: typer.Context,
    challenge_id: Annotated[str | None, _ID] = None,
    folder: Annotated[Path, typer.Option("--dir", help="The folder for the stub.")] = Path("."),
    watch: Annotated[bool, _WATCH] = True,
    overruled: Annotated[Literal["again", "hard", "good", "easy"] | None, _GRADE] = None,
    listed: Annotated[bool, typer.Option("--list", help="Only show what is due and when.")] = False,
    minutes: Annotated[int | None, _MINUTES] = None,
    as_json: AsJson = False,
) -> None:
    """Hand out the next challenge that is due, with its signatures only."""
    known_packs: KnownPacks = context.obj
    if as_json and not listed:
        raise DrillError("--json prints what is due: add --list.")
    if minutes is not None and overruled is not None:
        raise DrillError(
            "--grade overrules an earlier review, so it takes no --minutes. "
            "Give only one of these two options."
        )
    journal = default_journal()
    named = None if challenge_id is None else known_packs.find(challenge_id)
    if minutes is None and named is None and not listed:
        minutes = settings().review_minutes
    challenge = named
    if overruled is not None:
        _overrule(journal, named, overruled)
        challenge = None
    elif minutes is not None:
        challenge = _in_minutes(minutes, named, known_packs, journal, listed, as_json)
    elif listed or named is None:
        challenge = _longest_due(known_packs, journal, listed, as_json)
    if challenge is None:
        warn_journal(journal)
        return
    from attn_drill.cli.practise import review_challenge

    path = folder / challenge.file_name
    review_challenge(challenge, path, known_packs, journal, watch=watch)


def _in_minutes(
    minutes: int,
    named: Challenge | None,
    known_packs: KnownPacks,
    journal: Journal,
    listed: bool,
    as_json: bool,
) -> Challenge | None:
    """Show a planned review, and hold it. Return the challenge to write in full, or None."""
    from attn_drill.cli.planned_review import hold_review, planned_review, show_plan

    planned = planned_review(minutes, named, known_packs, journal)
    show_plan(planned, minutes, as_json=as_json)
    if listed or not (planned.plan.light or planned.plan.rewrites):
        return None
    return hold_review(planned, known_packs, journal, Random())


def _longest_due(
    known_packs: KnownPacks, journal: Journal, listed: bool, as_json: bool
) -> Challenge | None:
    """Return the challenge that has been due longest. Only show what is due if there is none."""
    from attn_drill.cli.planned_review import known_follow_ups
    from attn_drill.practice.agenda import agenda
    from attn_drill.practice.review_plan import due_follow_ups
    from attn_drill.practice.schedule import items

    now = time.time()
    challenges = known_packs.catalogue().challenges
    facts = journal.facts()
    entries = agenda(challenges, progress_of(facts), rated_reviews(facts, "challenge:"), now)
    due = [entry.challenge for entry in entries if entry.section == "due"]
    if due and not listed:
        say(_LESS_TIME)
        typer.echo()
        return due[0]
    scheduled = items(rated_reviews(facts, "follow-up:"), now)
    readable = known_follow_ups(challenges, scheduled, now)
    questions = due_follow_ups([scheduled[name] for name in scheduled if name in readable], now)
    if as_json:
        rows = [
            {"challenge": entry.challenge.id, "section": entry.section, "due_at": entry.item.due_at}
            for entry in entries
            if entry.item is not None
        ]
        say_json({"challenges": rows, "follow_up_questions": questions})
    else:
        _show(entries, questions, now)
    return None


def _show(entries: Sequence[AgendaEntry], questions: dict[str, int], now: float) -> None:
    """Show what is due and what will be due. `questions` has the number of each challenge."""
    from attn_drill.practice.agenda import in_days

    due = [(entry.challenge.id, "due") for entry in entries if entry.section == "due"]
    due += [
        (name, f"{plural(count, 'follow-up question')} due") for name, count in questions.items()
    ]
    later = sorted(
        (entry.item.due_at, entry.challenge.id)
        for entry in entries
        if entry.section != "due" and entry.item is not None
    )
    if not due and not later:
        say(
            "No challenge was passed yet, so nothing is due. "
            "`attn-drill list` shows the challenges; a challenge comes back after a pass."
        )
        return
    if not due:
        typer.echo("Nothing is due today.")
    for name, words in [*due, *((name, f"due {in_days(at, now)}") for at, name in later)]:
        typer.echo(f"{name:<18} {words}")
    not_passed = [entry for entry in entries if entry.section in ("under way", "new")]
    if due:
        say(_LESS_TIME)
    elif not_passed:
        challenge = not_passed[0].challenge
        say(f"`attn-drill start {challenge.id}` goes on with a challenge that is not passed yet.")


def _overrule(journal: Journal, challenge: Challenge | None, word: str) -> None:
    """Give the last review of a challenge, or of all challenges, another grade."""
    if challenge is None:
        reviews = rated_reviews(journal.facts(), "challenge:")
    else:
        reviews = rated_reviews(journal.facts(subject=item_of(challenge.id)))
    if not reviews:
        which = "" if challenge is None else f" of {challenge.id}"
        raise DrillError(
            f"There is no review{which} to overrule yet. "
            "A challenge is graded when it first passes."
        )
    last = reviews[-1]
    rating = RATINGS.index(word) + 1
    journal.add(Overruled(last.item, time.time(), review=last.id, rating=rating))
    name = last.item.removeprefix("challenge:")
    before = f"{RATINGS[last.rating - 1]}: {last.reason}"
    say(f"{name}: graded {word}, as you say (was {before}).")
