"""`attn-drill` without a command on a terminal: show the menu."""

from __future__ import annotations

import time
from pathlib import Path

from trainer.app.open_packs import KnownPacks
from trainer.cli.practise import review_challenge, start_challenge
from trainer.practice.agenda import agenda
from trainer.practice.journal import default_journal


def menu(known_packs: KnownPacks) -> None:
    """Let the learner choose a challenge. Review it if it is due, else start it."""
    journal = default_journal()
    challenges = known_packs.catalogue().challenges
    reviews = journal.reviews("challenge:")
    entries = agenda(challenges, journal.progress(), reviews, time.time())
    from trainer.session.menu_screen import choose

    chosen = choose(entries)
    if chosen is None:
        return
    challenge = chosen.challenge
    here = Path(challenge.file_name)
    if chosen.section == "due":
        review_challenge(challenge, here, known_packs, journal)
        return
    started = journal.path_of(challenge.id)
    path = started if started is not None and started.exists() else here
    start_challenge(challenge, path, known_packs, journal)
