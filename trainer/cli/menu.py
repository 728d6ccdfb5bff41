"""`attn-drill` without a command on a terminal: show the menu."""

from __future__ import annotations

import time
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING

from trainer.app.open_packs import KnownPacks
from trainer.cli.practise import review_challenge, start_challenge
from trainer.model.errors import DrillError
from trainer.practice.agenda import AgendaEntry, agenda
from trainer.practice.facts import Started
from trainer.practice.journal import Journal, default_journal
from trainer.practice.progress import (
    path_of,
    progress_of,
    rated_reviews,
)
from trainer.practice.statistics import Stats, statistics

if TYPE_CHECKING:
    from trainer.session.menu_screen import MenuChoice


def menu(known_packs: KnownPacks) -> list[str]:
    """Let the learner choose a challenge and practise it, or choose another command.

    Returns:
        The words of the other command, or [] if there is nothing more to do.
    """
    journal = default_journal()
    challenges = known_packs.catalogue().challenges
    now = time.time()
    facts = journal.facts()
    entries = agenda(challenges, progress_of(facts), rated_reviews(facts, "challenge:"), now)
    stats = statistics(facts, challenges, {}, now)
    from trainer.session.menu_screen import choose

    chosen = choose(entries, stats)
    if chosen is None:
        return []
    if chosen.command == "start" and chosen.entry is not None:
        _practise(chosen.entry, known_packs, journal)
        return []
    journal.close()  # the command opens the journal itself
    return command_words(chosen, stats, known_packs)


def _practise(entry: AgendaEntry, known_packs: KnownPacks, journal: Journal) -> None:
    """Review a challenge if it is due, else start it."""
    challenge = entry.challenge
    here = Path(challenge.file_name)
    if entry.section == "due":
        review_challenge(challenge, here, known_packs, journal)
        return
    started = path_of(journal.facts(Started, subject=challenge.id))
    path = started if started is not None and started.exists() else here
    start_challenge(challenge, path, known_packs, journal)


def command_words(chosen: MenuChoice, stats: Stats, known_packs: KnownPacks) -> list[str]:
    """Return the words of a command as the learner would type them after `attn-drill`."""
    words: list[str] = [chosen.command]
    if chosen.command == "hunt":
        words.append(_to_hunt(chosen, stats))
    return words + [word for folder in known_packs.named for word in ("--pack", str(folder))]


def _to_hunt(chosen: MenuChoice, stats: Stats) -> str:
    """Return the id of the chosen challenge, or of a random passed challenge.

    Raises:
        DrillError: If no challenge is chosen and none is passed.
    """
    if chosen.entry is not None:
        return chosen.entry.challenge.id
    if not stats.passed:
        raise DrillError(
            "No challenge is passed yet, and a bug hunt shows the reference of a challenge. "
            "Pass a challenge first, or hunt in any challenge with `attn-drill hunt ID`."
        )
    return Random().choice(stats.passed)
