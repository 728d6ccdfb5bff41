"""Find and read the answer that `check`, `trace` and `repro` are about."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from trainer.app.find_file import NOTEBOOK, asked, find_file, is_default_file
from trainer.app.open_packs import KnownPacks
from trainer.model.challenge import Challenge
from trainer.model.submission import Submission
from trainer.practice.journal import Journal
from trainer.practice.learner_files import read_source


@dataclass(frozen=True)
class Answer:
    """A learner's answer.

    Attributes:
        challenge: the challenge that it answers.
        path: its file.
        submission: its text.
        is_default: whether the commands find the file without the argument FILE.
    """

    challenge: Challenge
    path: Path
    submission: Submission
    is_default: bool


def find_answer(
    challenge_id: str | None, file: Path | None, journal: Journal, known_packs: KnownPacks
) -> Answer:
    """Return the answer that the arguments ID and FILE name.

    Raises:
        DrillError: if there is no such challenge or file, if the file cannot be read, or if a
            notebook does not hold the answer.
    """
    challenge, file = asked(challenge_id, file, journal, known_packs)
    path = find_file(challenge, file, journal, known_packs)
    source = read_answer(challenge, path)
    is_default = is_default_file(challenge, file, journal, known_packs)
    return Answer(challenge, path, Submission(str(path), source), is_default)


def read_answer(challenge: Challenge, path: Path) -> str:
    """Return the text of an answer. Of a notebook, return the answer's part of its code."""
    if path.suffix != NOTEBOOK:
        return read_source(path)
    from trainer.classroom.archives import MOST_NOTEBOOK_BYTES
    from trainer.classroom.notebook_cells import definitions

    text = read_source(path, most_bytes=MOST_NOTEBOOK_BYTES)
    return definitions(text, str(path), challenge.entry)
