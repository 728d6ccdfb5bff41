"""Hand out the stub of a challenge, and choose the next challenge."""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path

from attn_drill.app.open_packs import settings
from attn_drill.model.challenge import Challenge
from attn_drill.model.errors import DrillError
from attn_drill.packs import pack_reader
from attn_drill.packs.stub_levels import LEVELS, Level
from attn_drill.practice.facts import Resumed, Started
from attn_drill.practice.journal import Journal
from attn_drill.practice.learner_files import read_source, write_afresh, write_new
from attn_drill.practice.progress import path_of, progress_of, rated_reviews, since_start
from attn_drill.practice.schedule import AgendaEntry, in_days, item_of, items


def language() -> str:
    """Return the language of prompts: `en` by default, or e.g. `zh`."""
    return settings().language


def prompt_text(challenge: Challenge) -> str:
    """Return the prompt of a challenge in the learner's language."""
    return pack_reader.prompt(challenge, language())


def hand_out(challenge: Challenge, path: Path, journal: Journal, level: Level | None) -> bool:
    """Write the stub to `path` unless the learner's work is there; return whether it is there.

    Work that is under way in this file continues: its clock and its hints stay. An untouched stub
    of another level is replaced.

    Args:
        level: of the stub; None: the level of the file that is there, else that of the settings.
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
    """Write the stub to `path`; return the new name of the file that was there, if there was one.

    If the stub cannot be written, the old file stays in its place.
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
    candidates = build_on_last or ready or not_passed
    return min(candidates, key=lambda challenge: challenge.rank, default=None)


def recommended(entries: Sequence[AgendaEntry]) -> AgendaEntry | None:
    """Return the challenge to do next, or None if all are passed and none is due.

    A challenge that is due comes first, then a challenge that is under way. Of the new challenges
    whose bases are all passed, the most often asked comes first, and then the challenge on which
    the most others build.
    """
    begun = [entry for entry in entries if entry.section in ("due", "under way")]
    if begun:
        return begun[0]
    passed = {entry.challenge.id for entry in entries if entry.section == "passed"}
    ready = [
        entry
        for entry in entries
        if entry.section == "new" and passed.issuperset(entry.challenge.builds_on)
    ]
    bases = [base for entry in entries for base in entry.challenge.builds_on]
    return min(
        ready,
        key=lambda entry: (entry.challenge.rank, -bases.count(entry.challenge.id)),
        default=None,
    )


def next_steps(
    challenge: Challenge,
    challenges: Sequence[Challenge],
    journal: Journal,
    now: float,
    graded: str,
) -> str:
    """Return the situation after a pass in one line. It ends with the words `graded`."""
    progress = progress_of(journal.facts())
    passed = {name for name, state in progress.items() if state.state == "passed"}
    passed.add(challenge.id)  # the journal may be unwritable
    ids = {other.id for other in challenges} | {challenge.id}
    coming = [
        other.id
        for other in challenges
        if challenge.id in other.builds_on
        and other.id not in passed
        and passed.issuperset(other.builds_on)
    ]
    parts = [f"{len(passed & ids)} of {len(ids)} passed"]
    if coming:
        build = "it builds" if len(coming) == 1 else "they build"
        parts.append(f"next: {', '.join(coming)} ({build} on {challenge.id})")
    name = item_of(challenge.id)
    if item := items(rated_reviews(journal.facts(subject=name)), now).get(name):
        parts.append(f"comes back {in_days(item.due_at, now)}")
    return " · ".join(filter(None, [*parts, graded]))
