"""Find the learner's file for a challenge."""

from __future__ import annotations

from pathlib import Path

from trainer.app.open_packs import KnownPacks
from trainer.model.challenge import Challenge
from trainer.model.errors import DrillError
from trainer.practice.journal import Journal


def find_file(
    challenge: Challenge, file: Path | None, journal: Journal, known_packs: KnownPacks
) -> Path:
    """Return the file to grade.

    This is `file` if it is given, else the file with the stub's name in the current folder, else
    the place where `start` put the stub.

    Raises:
        DrillError: if no file is given and none of these files exists.
    """
    if file is not None:
        return file
    here = Path(challenge.file_name)
    if here.exists():
        return here
    started = journal.path_of(challenge.id)
    pack_option = known_packs.pack_option(challenge)
    if started is None:
        raise DrillError(
            f"There is no {here} in this folder. "
            f"`attn-drill start {challenge.id}{pack_option}` writes it, "
            f"or name your file: `attn-drill check {challenge.id} FILE{pack_option}`."
        )
    if not started.exists():
        raise DrillError(
            f"{started}, the stub that `start` wrote, is gone. "
            f"Name your file: `attn-drill check {challenge.id} FILE{pack_option}`."
        )
    return started
