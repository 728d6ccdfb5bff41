"""The file of an answer: find it, read it, and hand out its stub."""

from __future__ import annotations

import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from attn_drill.app.open_packs import KnownPacks, settings
from attn_drill.model.challenge import Challenge, Submission
from attn_drill.model.errors import DrillError
from attn_drill.packs import pack_reader
from attn_drill.packs.stub_levels import LEVELS, Level
from attn_drill.practice.facts import Resumed, Started
from attn_drill.practice.journal import Journal
from attn_drill.practice.learner_files import read_source, write_afresh, write_new
from attn_drill.practice.progress import last_started, path_of, since_start

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
        is_default = default.exists() and default.samefile(file)
        return LearnerAnswer(challenge, file, _text(challenge, file), is_default)
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


def prompt_text(challenge: Challenge) -> str:
    """Return the prompt of a challenge in the learner's language."""
    return pack_reader.prompt(challenge, settings().language)


def hand_out(challenge: Challenge, path: Path, journal: Journal, level: Level | None) -> bool:
    """Write the stub to `path` unless the learner's work is there; return whether it is there.

    Work that is under way continues: its clock and its hints stay. An untouched stub of another
    level is replaced. No `level` is that of the file that is there, else that of the settings.
    """
    if path.is_dir():
        raise DrillError(
            f"{path} is a folder, but the stub needs this name. Choose another folder with --dir."
        )
    level_before = handed_out_level(challenge, journal) or "standard"
    file_was_there = path.exists()
    if file_was_there and level not in (None, level_before) and _is_untouched(challenge, path):
        path.unlink()
        file_was_there = False
    if file_was_there:
        level = level_before
    else:
        level = level or settings().level
        write_new(path, pack_reader.stub(challenge, level))
    started = path_of(journal.facts(Started, subject=challenge.id))
    if not file_was_there or started != path.resolve():
        journal.add(Started(challenge.id, time.time(), path=str(path.resolve()), level=level))
    else:
        journal.add(Resumed(challenge.id, time.time()))
    return file_was_there


def _is_untouched(challenge: Challenge, path: Path) -> bool:
    """Return whether a file is a stub as it was handed out."""
    try:
        return pack_reader.is_stub(challenge, read_source(path))
    except DrillError:
        return False


def hand_out_afresh(
    challenge: Challenge, path: Path, journal: Journal, level: Level
) -> Path | None:
    """Write the stub to `path`; return the new name of a file that was there, else None."""
    old_file = write_afresh(path, pack_reader.stub(challenge, level))
    journal.add(Started(challenge.id, time.time(), path=str(path.resolve()), level=level))
    return old_file


def handed_out_level(challenge: Challenge, journal: Journal) -> Level | None:
    """Return the level of the stub that was last handed out, or None."""
    start = journal.last(Started, subject=challenge.id)
    return next((level for level in LEVELS if start and level == start.level), None)


def is_review_under_way(challenge: Challenge, path: Path, journal: Journal) -> bool:
    """Return whether the file at `path` began as a blank stub and has not passed yet."""
    facts = journal.facts(subject=challenge.id)
    return (
        path.exists()
        and path.resolve() == path_of(facts)
        and not since_start(facts).passed
        and handed_out_level(challenge, journal) == "blank"
    )
