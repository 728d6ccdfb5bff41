"""What several commands share: the pack, the learner's file, the journal's trouble."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from trainer.content import packs
from trainer.core.words import Challenge, DrillError
from trainer.practice.files import read_source, write_new
from trainer.practice.journal import Journal

__all__ = ["complete_id", "find", "fresh_seed", "language", "learner_file", "read_source", "say_trouble", "write_new"]


def find(challenge: str) -> Challenge:
    """A challenge of the built-in pack by id, or DrillError with the nearest ids."""
    return packs.find_challenge(packs.built_in_pack(), challenge)


def complete_id(incomplete: str) -> list[str]:
    """Ids for shell completion."""
    return [challenge.id for challenge in packs.read_pack(packs.built_in_pack()) if challenge.id.startswith(incomplete)]


def fresh_seed() -> int:
    """A seed that nobody has seen yet."""
    return int.from_bytes(os.urandom(4), "little") >> 1


def language() -> str:
    """`en` or `zh`, from ATTN_DRILL_LANG."""
    return os.environ.get("ATTN_DRILL_LANG", "en").partition("_")[0].lower() or "en"


def say_trouble(journal: Journal) -> None:
    """Say on stderr that the journal could not be kept, if it could not."""
    if journal.trouble is not None:
        print(f"attn-drill: {journal.trouble}", file=sys.stderr)


def learner_file(challenge: Challenge, file: Path | None, journal: Journal) -> Path:
    """The file to grade: the one given, else the stub's name in this folder, else where `start` put it."""
    if file is not None:
        return file
    here = Path(challenge.file_name)
    if here.exists():
        return here
    started = journal.path_of(challenge.id)
    if started is None:
        raise DrillError(
            f"There is no {here} in this folder. `attn-drill start {challenge.id}` writes it, or name your file: `attn-drill check {challenge.id} FILE`."
        )
    if not started.exists():
        raise DrillError(f"{started}, where `start` put the stub, is gone. Name your file: `attn-drill check {challenge.id} FILE`.")
    return started
