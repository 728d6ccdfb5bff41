"""Read everything that `grade` needs: the assignment, the submissions, the roster and the times."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from trainer.classroom.collect import Collected, collect, collect_single
from trainer.classroom.lateness import check_extensions, unknown_extensions
from trainer.classroom.records import Assignment
from trainer.classroom.roster import read_roster
from trainer.classroom.times import (
    read_submitted,
    with_gradescope,
    with_moodle_times,
    with_times,
)
from trainer.model.challenge import Challenge
from trainer.model.listing import first_of
from trainer.report.visible import visible
from trainer.report.wording import for_stream

_MOST_NAMED = 5  # names in one sentence
_GRADESCOPE_FILE = "submission_metadata.json"


@dataclass(frozen=True)
class ClassInputs:
    """The assignment and the submissions of a class.

    Attributes:
        assignment: the assignment.
        challenges: its challenges, in order.
        collected: the students and their submissions.
        has_roster: True if a roster was given.
        possible: the points possible of each column of the roster, by heading.
    """

    assignment: Assignment
    challenges: Sequence[Challenge]
    collected: Collected
    has_roster: bool
    possible: Mapping[str, str] = field(default_factory=dict)


def read_class(
    folder: Path,
    assignment: Assignment,
    challenges: Sequence[Challenge],
    *,
    roster_file: Path | None,
    submitted_file: Path | None,
    single: bool,
) -> ClassInputs:
    """Read the submissions of a class, and say on stderr what is unclear.

    Raises:
        DrillError: the submissions, the roster or the times cannot be read.
    """
    roster = None if roster_file is None else read_roster(roster_file)
    times = {} if submitted_file is None else read_submitted(submitted_file)
    if single:
        collected = collect_single(folder, challenges)
        metadata = folder.absolute().parent / _GRADESCOPE_FILE
        if metadata.is_file():
            collected, assignment = with_gradescope(collected, assignment, metadata)
    else:
        collected = with_moodle_times(collect(folder, challenges, roster))
    collected, unclear = with_times(collected, times)
    _say(collected)
    for sentence in unclear:
        _print(f"{submitted_file} {sentence}")
    check_extensions(assignment, collected.students)
    if extensions := unknown_extensions(assignment, collected.students):
        _print(f"[extensions] names nobody of this class: {_listed(extensions)}.")
    return ClassInputs(
        assignment,
        challenges,
        collected,
        roster is not None,
        {} if roster is None else roster.possible,
    )


def _say(collected: Collected) -> None:
    if collected.ignored:
        _print(f"Not graded, because nobody asked for it: {_listed(collected.ignored)}.")
    for note in collected.notes:
        _print(note)
    if strangers := [student for student in collected.students if student.is_in_roster is False]:
        _print(
            "The roster does not have these students: "
            f"{_listed([student.name for student in strangers])}."
        )


def _print(sentence: str) -> None:
    print(for_stream(visible(sentence), sys.stderr, hanging="    "), file=sys.stderr)


def _listed(names: Sequence[str]) -> str:
    return first_of(names, _MOST_NAMED)
