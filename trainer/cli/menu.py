"""`attn-drill` alone: on a terminal a menu, elsewhere the list."""

from __future__ import annotations

import time
from pathlib import Path

from trainer.cli.common import catalogue
from trainer.cli.list_ import list_challenges
from trainer.cli.review import hand_out_blank
from trainer.cli.start import can_stay, hand_out, practise
from trainer.practice.agenda import agenda
from trainer.practice.journal import default_journal


def menu() -> None:
    """Choose a challenge and start it: what is due as a review, all else as `start` does."""
    if not can_stay():
        list_challenges()
        return
    journal = default_journal()
    entries = agenda(
        catalogue().challenges, journal.progress(), journal.reviews("challenge:"), time.time()
    )
    from trainer.session.menu import choose

    chosen = choose(entries)
    if chosen is None:
        return
    if chosen.section == "due":
        hand_out_blank(chosen.challenge, Path(), journal)
        return
    started = journal.path_of(chosen.challenge.id)
    path = started if started is not None and started.exists() else Path(chosen.challenge.file_name)
    hand_out(chosen.challenge, path, journal, "standard")
    practise(chosen.challenge, path, journal)
