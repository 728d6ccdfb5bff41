"""What several commands share: the packs and `--pack`, the learner's file, the journal's trouble."""

from __future__ import annotations

import os
import shlex
import sys
from collections.abc import Iterable
from pathlib import Path

from trainer.content import known_packs
from trainer.content.known_packs import VARIABLE, Catalogue, Places
from trainer.core.words import Challenge, DrillError
from trainer.practice.files import read_source, write_new
from trainer.practice.journal import Journal

__all__ = [
    "complete_id",
    "find",
    "fresh_seed",
    "language",
    "learner_file",
    "read_source",
    "say_trouble",
    "write_new",
]

_named: list[Path] = []  # by --pack, in this process


def name_packs(folders: Iterable[Path | str] | None, *, afresh: bool = False) -> None:
    """Take these folders for packs, after those that were named before the command. They are looked at when a challenge is looked for."""
    if afresh:
        _named.clear()
    _named.extend(Path(folder) for folder in folders or ())


def named_packs() -> tuple[Path, ...]:
    """The folders of `--pack`, before the command and after it."""
    return tuple(_named)


def places() -> Places:
    """Where packs are named: by `--pack` and in ATTN_DRILL_PACK."""
    return Places(named_packs(), os.environ.get(VARIABLE, ""))


def find(challenge: str) -> Challenge:
    """A challenge of the known packs by id, or DrillError with the nearest ids."""
    return known_packs.find(places(), challenge)


def catalogue() -> Catalogue:
    """All challenges of all known packs."""
    return known_packs.catalogue(places())


def pack_roots() -> tuple[Path, ...]:
    """The folders of all known packs, the first to be asked first, then those of their copies: a grader hides them all."""
    known = known_packs.known_packs(places())
    return (*(pack.root for pack in known), *(copy for pack in known for copy in pack.copies))


def with_pack(challenge: Challenge) -> str:
    """What a command that is shown needs, so that it finds this challenge again: ` --pack DIR`, or nothing."""
    root = challenge.folder.parent.parent
    folder = next((one for one in _named if one.expanduser().resolve() == root), None)
    return "" if folder is None else f" --pack {shlex.quote(str(folder))}"


def complete_id(incomplete: str) -> list[str]:
    """Ids for shell completion."""
    try:
        return [
            challenge.id
            for challenge in catalogue().challenges
            if challenge.id.startswith(incomplete)
        ]
    except DrillError:  # --pack names no pack; the command will say so
        return []


def fresh_seed() -> int:
    """A seed that nobody has seen yet."""
    return int.from_bytes(os.urandom(4), "little") >> 1


def cores() -> int:
    """How many cores this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def language() -> str:
    """`en` or `zh`, from ATTN_DRILL_LANG."""
    return os.environ.get("ATTN_DRILL_LANG", "en").partition("_")[0].lower() or "en"


def warn(sentences: Iterable[str]) -> None:
    """Say these on stderr."""
    for sentence in sentences:
        print(f"attn-drill: {sentence}", file=sys.stderr)


def say_trouble(journal: Journal) -> None:
    """Say on stderr that the journal could not be kept, if it could not."""
    if journal.trouble is not None:
        warn([journal.trouble])


def learner_file(challenge: Challenge, file: Path | None, journal: Journal) -> Path:
    """The file to grade: the one given, else the stub's name in this folder, else where `start` put it."""
    if file is not None:
        return file
    here = Path(challenge.file_name)
    if here.exists():
        return here
    started, packed = journal.path_of(challenge.id), with_pack(challenge)
    if started is None:
        raise DrillError(
            f"There is no {here} in this folder. `attn-drill start {challenge.id}{packed}` writes it, "
            f"or name your file: `attn-drill check {challenge.id} FILE{packed}`."
        )
    if not started.exists():
        raise DrillError(
            f"{started}, where `start` put the stub, is gone. Name your file: `attn-drill check {challenge.id} FILE{packed}`."
        )
    return started
