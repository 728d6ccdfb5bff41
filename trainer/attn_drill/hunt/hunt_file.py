"""Write the file of a hunt."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from pathlib import Path

from attn_drill.hunt.planted_mistakes import file_name, hunt_file_text, mistakes_by_ids
from attn_drill.model.challenge import Challenge, Mistake
from attn_drill.practice.facts import Hunted
from attn_drill.practice.journal import Journal
from attn_drill.practice.learner_files import write_afresh


def write_hunt(
    challenge: Challenge, mistakes: Sequence[Mistake], folder: Path, journal: Journal
) -> tuple[Path, Path | None]:
    """Write the reference with mistakes into a folder, and record the hunt.

    Return the path of the file, and the new name of the old file if it has the learner's work.
    """
    path = folder / file_name(challenge)
    last = journal.last(Hunted, subject=challenge.id)
    old_file = write_afresh(path, hunt_file_text(challenge, mistakes))
    if old_file and last and _is_untouched(challenge, old_file, last.mistakes):
        with contextlib.suppress(OSError):
            old_file.unlink()
            old_file = None
    ids = tuple(mistake.id for mistake in mistakes)
    journal.add(Hunted(challenge.id, time.time(), mistakes=ids, path=str(path.resolve())))
    return path, old_file


def _is_untouched(challenge: Challenge, path: Path, ids: Sequence[str]) -> bool:
    """Return whether a file is still the file that was handed out."""
    mistakes = mistakes_by_ids(challenge, ids)
    try:
        return (
            mistakes is not None
            and path.read_bytes() == hunt_file_text(challenge, mistakes).encode()
        )
    except OSError:
        return False
