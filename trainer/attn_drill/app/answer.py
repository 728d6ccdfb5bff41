"""Find the answer that a learner means: its challenge, its file and its text."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from attn_drill.app.open_packs import KnownPacks
from attn_drill.model.challenge import Challenge, Submission
from attn_drill.model.errors import DrillError
from attn_drill.practice.facts import Resumed, Started
from attn_drill.practice.journal import Journal
from attn_drill.practice.learner_files import read_source
from attn_drill.practice.progress import last_started, path_of

NOTEBOOK = ".ipynb"


@dataclass(frozen=True)
class LearnerAnswer:
    """A learner's answer to a challenge."""

    challenge: Challenge
    path: Path
    source: str
    is_default: bool = False  # the commands find the file without the argument FILE

    @property
    def submission(self) -> Submission:
        """The answer as the grader takes it."""
        return Submission(str(self.path), self.source)


def find_answer(
    challenge_id: str | None, file: Path | None, journal: Journal, packs: KnownPacks
) -> LearnerAnswer:
    """Return the answer that the arguments ID and FILE of a command name.

    The name of a file in place of ID, e.g. `gqa.py`, is enough. Without ID, the challenge that was
    started last is meant. Without FILE, the file with the stub's name in this folder, else the
    file where `start` put the stub.
    """
    challenge = None
    named = Path(challenge_id or "")
    if file is None and named.suffix in (".py", NOTEBOOK):
        with suppress(DrillError):
            challenge, file = packs.find(named.stem), named
    if challenge_id is None:
        challenge_id = last_started(journal.facts(Started, Resumed))
        if challenge_id is None:
            raise DrillError(
                "No challenge was started yet, so there is nothing to grade. Name the challenge: "
                "`attn-drill check ID`, or begin with `attn-drill start ID`."
            )
    if challenge is None:
        challenge = packs.find(challenge_id)
    here = Path(challenge.file_name)
    started = path_of(journal.facts(Started, subject=challenge.id))
    default = here if here.exists() or started is None else started
    if file is not None:
        text = _text(challenge, file)
        is_default = default.exists() and default.samefile(file)
        return LearnerAnswer(challenge, file, text, is_default)
    if not default.exists():
        pack_option = packs.pack_option(challenge)
        name_it = f"`attn-drill check {challenge.id} FILE{pack_option}`"
        if default != here:
            raise DrillError(
                f"{default}, the stub that `start` wrote, is gone. Name your file: {name_it}."
            )
        raise DrillError(
            f"There is no {here} in this folder. `attn-drill start {challenge.id}{pack_option}` "
            f"writes it, or name your file: {name_it}."
        )
    return LearnerAnswer(challenge, default, _text(challenge, default), is_default=True)


def _text(challenge: Challenge, path: Path) -> str:
    """Return the text of an answer. Of a notebook, return the answer's part of its code."""
    if path.suffix != NOTEBOOK:
        return read_source(path)
    from attn_drill.practice.notebook_file import MOST_NOTEBOOK_BYTES, python_of

    text = read_source(path, most_bytes=MOST_NOTEBOOK_BYTES)
    return python_of(text, str(path), challenge.entry)
