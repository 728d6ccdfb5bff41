"""Hand out the stub of a challenge, and choose the next challenge."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from pathlib import Path

from trainer.model.challenge import Challenge
from trainer.model.errors import DrillError
from trainer.packs import pack_reader
from trainer.packs.stub_levels import LEVELS, Level
from trainer.practice.facts import Resumed, Started
from trainer.practice.journal import Journal
from trainer.practice.learner_files import write_afresh, write_new
from trainer.practice.progress import path_of, progress_of, since_start


def language() -> str:
    """Return the language of prompts, from ATTN_DRILL_LANG: `en` by default, or e.g. `zh`."""
    return os.environ.get("ATTN_DRILL_LANG", "en").partition("_")[0].lower() or "en"


def prompt_text(challenge: Challenge) -> str:
    """Return the prompt of a challenge in the learner's language."""
    return pack_reader.prompt(challenge, language())


def hand_out(challenge: Challenge, path: Path, journal: Journal, level: Level) -> bool:
    """Write the stub to `path` unless a file is there; return whether a file was there.

    Work that is under way in this file continues: its clock and its hints stay.

    Raises:
        DrillError: if the stub cannot be written.
    """
    if path.is_dir():
        raise DrillError(
            f"{path} is a folder, but the stub needs this name. Choose another folder with --dir."
        )
    file_was_there = path.exists()
    if not file_was_there:
        write_new(path, pack_reader.stub(challenge, level))
    else:
        level = handed_out_level(challenge, journal) or "standard"
    started = path_of(journal.facts(Started, subject=challenge.id))
    if not file_was_there or started != path.resolve():
        journal.add(Started(challenge.id, time.time(), path=str(path.resolve()), level=level))
    else:
        journal.add(Resumed(challenge.id, time.time()))
    return file_was_there


def hand_out_afresh(
    challenge: Challenge, path: Path, journal: Journal, level: Level
) -> Path | None:
    """Write the stub to `path`; return the new name of the file that was there, if there was one.

    Raises:
        DrillError: if the stub cannot be written; the old file then stays in its place.
    """
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


def next_challenge(
    last: Challenge, challenges: Sequence[Challenge], journal: Journal
) -> Challenge | None:
    """Return the challenge to practise after `last`, or None if all are passed.

    The first choice is a challenge that builds on `last`, the second a challenge whose bases are
    all passed, the third any that is not passed. Of these, the most often asked comes first.
    """
    progress = progress_of(journal.facts())
    passed = {name for name in progress if progress[name].state == "passed"}
    not_passed = [challenge for challenge in challenges if challenge.id not in passed]
    ready = [challenge for challenge in not_passed if passed.issuperset(challenge.builds_on)]
    build_on_last = [challenge for challenge in ready if last.id in challenge.builds_on]
    for candidates in (build_on_last, ready, not_passed):
        if candidates:
            return min(candidates, key=lambda challenge: challenge.rank)
    return None
