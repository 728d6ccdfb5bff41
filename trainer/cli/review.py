"""`attn-drill review`: hand out the next challenge that is due, with a blank stub."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from trainer.app.open_packs import KnownPacks
from trainer.app.warn import say, warn_journal
from trainer.model.challenge import Challenge
from trainer.model.errors import DrillError
from trainer.model.quantities import plural
from trainer.practice.facts import Overruled
from trainer.practice.journal import Journal, default_journal
from trainer.practice.progress import progress_of, rated_reviews
from trainer.practice.schedule import RATINGS, item_of

if TYPE_CHECKING:
    from trainer.practice.agenda import AgendaEntry

_LESS_TIME = "In short: `attn-drill review --minutes 15`."


def review(
    context: typer.Context,
    challenge_id: Annotated[
        str | None,
        typer.Argument(
            metavar="[ID]", help="This challenge, due or not; by default the longest due."
        ),
    ] = None,
    folder: Annotated[Path, typer.Option("--dir", help="The folder for the stub.")] = Path("."),
    watch: Annotated[
        bool,
        typer.Option(
            "--watch/--no-watch", help="Stay and grade every save, if this is a terminal."
        ),
    ] = True,
    overruled: Annotated[
        Literal["again", "hard", "good", "easy"] | None,
        typer.Option("--grade", help="Overrule the grade of the last review, or of ID's last."),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="Only show what is due and when.")] = False,
    minutes: Annotated[
        int | None,
        typer.Option("--minutes", help="Review what fits into this time, most of it in short."),
    ] = None,
) -> None:
    """Hand out the next challenge that is due, with its signatures only."""
    known_packs: KnownPacks = context.obj
    _check_minutes(minutes, overruled)
    journal = default_journal()
    if overruled is not None:
        reviewed = None if challenge_id is None else known_packs.find(challenge_id)
        _overrule(journal, reviewed, overruled)
        return
    named = None if challenge_id is None else known_packs.find(challenge_id)
    if minutes is not None:
        from trainer.cli.planned_review import review_in

        challenge = review_in(minutes, named, known_packs, journal, listed=listed)
    elif listed or named is None:
        challenge = _longest_due(known_packs, journal, listed=listed)
    else:
        challenge = named
    if challenge is None:
        warn_journal(journal)
        return
    from trainer.cli.practise import review_challenge

    path = folder / challenge.file_name
    review_challenge(challenge, path, known_packs, journal, watch=watch)


def _check_minutes(minutes: int | None, overruled: str | None) -> None:
    """Raise DrillError if `--minutes` is out of range, or given with `--grade`."""
    from trainer.practice.review_plan import LEAST_MINUTES, MOST_MINUTES

    if minutes is None:
        return
    if not LEAST_MINUTES <= minutes <= MOST_MINUTES:
        raise DrillError(f"--minutes is {minutes}; it must be {LEAST_MINUTES} to {MOST_MINUTES}.")
    if overruled is not None:
        raise DrillError(
            "--grade overrules an earlier review, so it takes no --minutes. "
            "Give only one of these two options."
        )


def _longest_due(known_packs: KnownPacks, journal: Journal, *, listed: bool) -> Challenge | None:
    """Return the challenge that has been due longest. Show what is due if there is none.

    Args:
        known_packs: The packs of this run.
        journal: The learner's journal.
        listed: Show what is due, and return None.
    """
    from trainer.practice.agenda import agenda

    now = time.time()
    challenges = known_packs.catalogue().challenges
    facts = journal.facts()
    entries = agenda(challenges, progress_of(facts), rated_reviews(facts, "challenge:"), now)
    challenge = None if listed else _due(entries)
    if challenge is None:
        _show(entries, _due_questions(challenges, journal, now), now)
    else:
        say(_LESS_TIME)
        typer.echo()
    return challenge


def _due_questions(challenges: Sequence[Challenge], journal: Journal, now: float) -> dict[str, int]:
    """Return the number of due follow-up questions of each challenge that has any."""
    from trainer.cli.planned_review import known_follow_ups
    from trainer.practice.review_plan import due_follow_ups
    from trainer.practice.schedule import items

    scheduled = items(rated_reviews(journal.facts(), "follow-up:"), now)
    known = known_follow_ups(challenges, scheduled, now)
    return due_follow_ups([scheduled[name] for name in scheduled if name in known], now)


def _due(entries: Sequence[AgendaEntry]) -> Challenge | None:
    """Return the challenge that has been due longest, if any is due."""
    return next((entry.challenge for entry in entries if entry.section == "due"), None)


def _show(entries: Sequence[AgendaEntry], questions: Mapping[str, int], now: float) -> None:
    """Show what is due and what will be due.

    Args:
        entries: The agenda.
        questions: The number of due follow-up questions by challenge id.
        now: The current time in seconds since the epoch.
    """
    from trainer.practice.agenda import in_days

    due = [entry.challenge for entry in entries if entry.section == "due"]
    later = [
        (entry.item.due_at, entry.challenge)
        for entry in entries
        if entry.section != "due" and entry.item is not None
    ]
    if not due and not later and not questions:
        say(
            "No challenge was passed yet, so nothing is due. "
            "`attn-drill list` shows the challenges; a challenge comes back after a pass."
        )
        return
    if not due and not questions:
        typer.echo("Nothing is due today.")
    for challenge in due:
        typer.echo(f"{challenge.id:<18} due")
    for name, count in questions.items():
        typer.echo(f"{name:<18} {plural(count, 'follow-up question')} due")
    for due_at, challenge in sorted(later, key=lambda pair: pair[0]):
        typer.echo(f"{challenge.id:<18} due {in_days(due_at, now)}")
    if due or questions:
        say(_LESS_TIME)
    not_passed = [entry for entry in entries if entry.section in ("under way", "new")]
    if not due and not questions and not_passed:
        challenge = not_passed[0].challenge
        say(f"`attn-drill start {challenge.id}` goes on with a challenge that is not passed yet.")


def _overrule(journal: Journal, challenge: Challenge | None, word: str) -> None:
    """Give the last review another grade.

    Args:
        journal: The journal.
        challenge: The challenge, or None for the last review of all challenges.
        word: The new grade.

    Raises:
        DrillError: If there is no review.
    """
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
    warn_journal(journal)
