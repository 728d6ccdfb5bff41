"""Find the challenge that a learner means, and the learner's file for it."""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from trainer.app.open_packs import KnownPacks
from trainer.model.challenge import Challenge
from trainer.model.errors import DrillError
from trainer.practice.facts import Resumed, Started
from trainer.practice.journal import Journal
from trainer.practice.progress import last_started, path_of

NOTEBOOK = ".ipynb"


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
    started = path_of(journal.facts(Started, subject=challenge.id))
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


def is_default_file(
    challenge: Challenge, file: Path | None, journal: Journal, known_packs: KnownPacks
) -> bool:
    """Return whether the commands find this file without the argument FILE."""
    if file is None:
        return True
    try:
        return find_file(challenge, None, journal, known_packs).samefile(file)
    except (DrillError, OSError):
        return False


def asked(
    challenge_id: str | None, file: Path | None, journal: Journal, known_packs: KnownPacks
) -> tuple[Challenge, Path | None]:
    """Return the challenge and the file that a command names.

    If only the name of a file is given, e.g. `gqa.py`, the challenge has this name.

    Raises:
        DrillError: as for `find_challenge`.
    """
    named = Path(challenge_id or "")
    if file is None and named.suffix in (".py", NOTEBOOK):
        with suppress(DrillError):
            return known_packs.find(named.stem), named
    return find_challenge(challenge_id, journal, known_packs), file


def find_challenge(
    challenge_id: str | None, journal: Journal, known_packs: KnownPacks
) -> Challenge:
    """Return the challenge with this id, or the challenge that was started last.

    Raises:
        DrillError: if no pack has the id, or if it names a file, or if nothing was started.
    """
    if challenge_id is not None:
        return known_packs.find(challenge_id)
    started = last_started(journal.facts(Started, Resumed))
    if started is None:
        raise DrillError(
            "No challenge was started yet, so there is nothing to grade. Name the challenge: "
            "`attn-drill check ID`, or begin with `attn-drill start ID`."
        )
    return known_packs.find(started)
