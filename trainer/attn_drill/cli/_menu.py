"""`attn-drill` or `attn-drill start` on a terminal: show the menu, and run what is chosen."""

from __future__ import annotations

import time
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

import typer

from attn_drill.app.answer import is_review_under_way
from attn_drill.cli._command_line import Desk
from attn_drill.cli._practise import review_challenge, start_challenge
from attn_drill.model.errors import DrillError
from attn_drill.packs.question_bank import read_bank
from attn_drill.practice.facts import Started
from attn_drill.practice.journal import Journal
from attn_drill.practice.progress import path_of, progress_of, rated_reviews
from attn_drill.practice.schedule import AgendaEntry, agenda, recommended
from attn_drill.practice.statistics import Stats, statistics

if TYPE_CHECKING:
    from attn_drill.session import MenuChoice


def menu(context: typer.Context) -> None:
    """Show the menu again and again, and run what the learner chooses, until the learner leaves."""
    desk: Desk = context.obj
    program = context.find_root().command
    notice = ""
    while True:
        stats, chosen = _choose(desk, notice)
        if chosen is None:
            return
        notice = ""
        try:
            if chosen.command == "start" and chosen.entry is not None:
                practise = review_challenge if chosen.entry.section == "due" else start_challenge
                path = _path(chosen.entry, desk.journal)
                practise(chosen.entry.challenge, path, desk)
                continue
            words = command_words(chosen, stats, desk.named)
            program.main(words, standalone_mode=False)
        except DrillError as error:
            notice = str(error)
        else:  # the command has left text to read on the terminal
            typer.prompt("Enter goes back to the menu", "", show_default=False)


def _choose(desk: Desk, notice: str) -> tuple[Stats, MenuChoice | None]:
    """Let the learner choose. Return the statistics and the choice."""
    from attn_drill.session import Menu, choose

    catalogue, journal, now = desk.packs.catalogue(), desk.journal, time.time()
    challenges, facts = catalogue.challenges, journal.facts()
    entries = agenda(challenges, progress_of(facts), rated_reviews(facts, "challenge:"), now)
    stats = statistics(facts, challenges, {}, now)

    def plan(entry: AgendaEntry) -> str:
        path = _path(entry, journal)
        if entry.section == "due" and not is_review_under_way(entry.challenge, path, journal):
            kept = "; your old file is kept under another name" if path.exists() else ""
            return f"Enter writes a blank stub to {path}{kept}."
        return f"Enter goes on with {path}." if path.exists() else f"Enter writes {path}."

    topics = read_bank(catalogue.roots).titles
    return stats, choose(Menu(entries, recommended(entries), topics, plan, stats, now, notice))


def _path(entry: AgendaEntry, journal: Journal) -> Path:
    """Return the learner's file: the file that was handed out, else a file in this folder."""
    here = Path(entry.challenge.file_name)
    started = path_of(journal.facts(Started, subject=entry.challenge.id))
    # A review begins a new file here.
    if entry.section == "due" or started is None or not started.exists():
        return here
    return here if started == here.resolve() else started


def command_words(chosen: MenuChoice, stats: Stats, packs: Iterable[Path | str]) -> list[str]:
    """Return the words of a command as the learner would type them after `attn-drill`.

    A hunt without a challenge takes a random passed challenge.
    """
    words: list[str] = [chosen.command]
    if chosen.command == "hunt" and chosen.entry is not None:
        words.append(chosen.entry.challenge.id)
    elif chosen.command == "hunt":
        if not stats.passed:
            raise DrillError(
                "No challenge is passed yet, and a bug hunt shows the reference of a challenge. "
                "Pass a challenge first, or hunt in any challenge with `attn-drill hunt ID`."
            )
        words.append(Random().choice(stats.passed))
    for folder in packs:
        words += ["--pack", str(folder)]
    return words
