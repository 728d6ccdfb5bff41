"""`attn-drill review`: hand out the next challenge that is due, with a blank stub."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from random import Random
from typing import Annotated, Literal

import typer

from attn_drill.app.settings import LEAST_MINUTES, MOST_MINUTES, settings
from attn_drill.app.warn import say, say_json
from attn_drill.cli.parameters import AsJson, Desk, StubFolder, Watch
from attn_drill.model.challenge import Challenge
from attn_drill.model.errors import DrillError
from attn_drill.model.quantities import plural
from attn_drill.practice.agenda import AgendaEntry, agenda, in_days
from attn_drill.practice.facts import Overruled
from attn_drill.practice.journal import Journal
from attn_drill.practice.progress import progress_of, rated_reviews
from attn_drill.practice.review_plan import due_follow_ups
from attn_drill.practice.schedule import RATINGS, item_of, items

_LESS_TIME = "In short: `attn-drill review --minutes 15`."
_ID = typer.Argument(metavar="[ID]", help="This challenge, due or not; by default the longest due.")
_GRADE = typer.Option("--grade", help="Overrule the grade of the last review, or of ID's last.")
_LIST = typer.Option("--list", help="Only show what is due and when.")
_MINUTES = typer.Option(
    min=LEAST_MINUTES,
    max=MOST_MINUTES,
    help="Review what fits into this time, most of it in short.",
)


def review(
    context: typer.Context,
    challenge_id: Annotated[str | None, _ID] = None,
    folder: StubFolder = Path("."),
    watch: Watch = True,
    overruled: Annotated[Literal["again", "hard", "good", "easy"] | None, _GRADE] = None,
    listed: Annotated[bool, _LIST] = False,
    minutes: Annotated[int | None, _MINUTES] = None,
    as_json: AsJson = False,
) -> None:
    """Hand out the next challenge that is due, with its signatures only."""
    if as_json and not listed:
        raise DrillError("--json prints what is due: add --list.")
    if minutes is not None and overruled is not None:
        raise DrillError(
            "--grade overrules an earlier review, so it takes no --minutes. "
            "Give only one of these two options."
        )
    desk: Desk = context.obj
    named = None if challenge_id is None else desk.packs.find(challenge_id)
    if overruled is not None:
        _overrule(desk.journal, named, overruled)
        return
    if minutes is None and named is None and not listed:
        minutes = settings().review_minutes
    challenge = named
    if minutes is not None:
        from attn_drill.cli.planned_review import hold_review, planned_review, show_plan

        planned = planned_review(minutes, named, desk)
        show_plan(planned, minutes, as_json=as_json)
        challenge = None if listed else hold_review(planned, desk, Random())
    elif listed or named is None:
        challenge = _longest_due(desk, listed=listed, as_json=as_json)
    if challenge is not None:
        from attn_drill.cli.practise import review_challenge

        review_challenge(challenge, folder / challenge.file_name, desk, watch=watch)


def _longest_due(desk: Desk, *, listed: bool, as_json: bool) -> Challenge | None:
    """Return the challenge that has been due longest. Only show what is due if there is none."""
    from attn_drill.cli.planned_review import known_follow_ups

    now, facts = time.time(), desk.journal.facts()
    challenges = desk.packs.catalogue().challenges
    entries = agenda(challenges, progress_of(facts), rated_reviews(facts, "challenge:"), now)
    due = [entry.challenge for entry in entries if entry.section == "due"]
    if due and not listed:
        say(_LESS_TIME)
        typer.echo()
        return due[0]
    scheduled = items(rated_reviews(facts, "follow-up:"), now)
    readable = known_follow_ups(challenges, scheduled, now)
    questions = due_follow_ups([scheduled[name] for name in scheduled if name in readable], now)
    if not as_json:
        _show(entries, questions, now)
        return None
    rows = [
        {"challenge": entry.challenge.id, "section": entry.section, "due_at": entry.item.due_at}
        for entry in entries
        if entry.item is not None
    ]
    say_json({"challenges": rows, "follow_up_questions": questions})
    return None


def _show(entries: Sequence[AgendaEntry], questions: dict[str, int], now: float) -> None:
    """Show what is due and what will be due. `questions` has the number of each challenge."""
    rows = [(entry.challenge.id, "due") for entry in entries if entry.section == "due"]
    for name, count in questions.items():
        rows.append((name, f"{plural(count, 'follow-up question')} due"))
    later = sorted(
        (entry.item.due_at, entry.challenge.id)
        for entry in entries
        if entry.section != "due" and entry.item is not None
    )
    if not rows and not later:
        say(
            "No challenge was passed yet, so nothing is due. "
            "`attn-drill list` shows the challenges; a challenge comes back after a pass."
        )
        return
    advice = _LESS_TIME
    if not rows:
        typer.echo("Nothing is due today.")
        not_passed = [entry for entry in entries if entry.section in ("under way", "new")]
        advice = ""
        if not_passed:
            start = f"`attn-drill start {not_passed[0].challenge.id}`"
            advice = f"{start} goes on with a challenge that is not passed yet."
    rows += [(name, f"due {in_days(due_at, now)}") for due_at, name in later]
    for name, words in rows:
        typer.echo(f"{name:<18} {words}")
    if advice:
        say(advice)


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
