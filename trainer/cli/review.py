"""`attn-drill review`: the next challenge that is due, with a blank stub."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated, Literal

import typer

from trainer.cli.common import catalogue, find, language, say_trouble
from trainer.cli.start import can_stay, next_steps, practise, show_prompt
from trainer.content import packs
from trainer.core.words import Challenge, DrillError
from trainer.practice.agenda import Entry, agenda, in_days
from trainer.practice.files import write_afresh
from trainer.practice.journal import Journal, default_journal
from trainer.practice.schedule import RATINGS, item_of


def review(
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
            "--watch/--no-watch", help="Stay and grade every save, where this is a terminal."
        ),
    ] = True,
    overruled: Annotated[
        Literal["again", "hard", "good", "easy"] | None,
        typer.Option("--grade", help="Overrule the grade of the last review of ID, or of all."),
    ] = None,
    listed: Annotated[bool, typer.Option("--list", help="Only say what is due and when.")] = False,
) -> None:
    """Hand out the next challenge that is due, as signatures alone."""
    journal = default_journal()
    if overruled is not None:
        _overrule(journal, challenge_id, overruled)
        return
    now = time.time()
    entries = agenda(catalogue().challenges, journal.progress(), journal.reviews("challenge:"), now)
    if listed:
        _show(entries, now)
        say_trouble(journal)
        return
    challenge = find(challenge_id) if challenge_id is not None else _due(entries)
    if challenge is None:
        _show(entries, now)
        say_trouble(journal)
        return
    hand_out_blank(challenge, folder, journal, watch=watch)


def hand_out_blank(
    challenge: Challenge, folder: Path, journal: Journal, *, watch: bool = True
) -> None:
    """A blank stub in the place of what is there, which is kept aside; then as `start` does."""
    path = folder / challenge.file_name
    blank = packs.stub(challenge, "blank")
    under_way = (
        path.exists()
        and path.resolve() == journal.path_of(challenge.id)
        and not journal.since_start(challenge.id).passed
        and journal.level_of(challenge.id) == "blank"
    )
    if not under_way:
        kept = write_afresh(path, blank)
        journal.record_start(challenge.id, path.resolve(), time.time(), "blank")
        if kept is not None:
            typer.echo(f"Your old {path.name} is kept as {kept.name}.")
    if watch and can_stay():
        practise(challenge, path, journal, "review")
        return
    show_prompt(packs.prompt(challenge, language()))
    typer.echo()
    typer.echo(next_steps(challenge, path, kept=under_way))
    say_trouble(journal)


def _due(entries: list[Entry]) -> Challenge | None:
    return next((one.challenge for one in entries if one.section == "due"), None)


def _show(entries: list[Entry], now: float) -> None:
    """What is due, and what will be."""
    due = [one for one in entries if one.section == "due"]
    later = sorted(
        (one for one in entries if one.section != "due" and one.item is not None),
        key=lambda one: one.item.due_at if one.item else 0.0,
    )
    if not due and not later:
        typer.echo(
            "Nothing was passed yet, so nothing is due. `attn-drill list` shows what there is; a pass makes a challenge come back."
        )
        return
    if not due:
        typer.echo("Nothing is due today.")
    for one in due:
        typer.echo(f"{one.challenge.id:<18} due")
    for one in later:
        if one.item is not None:
            typer.echo(f"{one.challenge.id:<18} due {in_days(one.item.due_at - now)}")
    fresh = next((one.challenge.id for one in entries if one.section in ("under way", "new")), None)
    if not due and fresh is not None:
        typer.echo(f"`attn-drill start {fresh}` goes on with what is not passed yet.")


def _overrule(journal: Journal, challenge_id: str | None, word: str) -> None:
    prefix = item_of(find(challenge_id).id) if challenge_id is not None else "challenge:"
    reviews = [one for one in journal.reviews(prefix) if challenge_id is None or one.item == prefix]
    if not reviews:
        raise DrillError(
            f"There is no review{f' of {challenge_id}' if challenge_id else ''} to overrule yet: a grade comes with a pass."
        )
    last = reviews[-1]
    journal.overrule(last.id, time.time(), RATINGS.index(word) + 1)
    typer.echo(
        f"{last.item.removeprefix('challenge:')}: graded {word}, as you say (was {RATINGS[last.rating - 1]}: {last.reason})."
    )
    say_trouble(journal)
