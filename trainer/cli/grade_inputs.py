"""Read everything that `grade` needs: the assignment, the submissions, the roster and the times."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from trainer.app.grade_file import check_limits
from trainer.app.open_packs import KnownPacks
from trainer.classroom.assignment import check_weights, plain_assignment, read_assignment
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
from trainer.model.errors import DrillError, GraderError
from trainer.model.listing import first_of
from trainer.report.visible import visible
from trainer.report.wording import for_stream
from trainer.server.messages import GradeReference, refusal
from trainer.server.messages import Verdict as VerdictMessage
from trainer.server.pool import pool

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
        has_times: True if `--submitted` was given.
        possible: the points possible of each column of the roster, by heading.
    """

    assignment: Assignment
    challenges: Sequence[Challenge]
    collected: Collected
    has_roster: bool
    has_times: bool = False
    possible: Mapping[str, str] = field(default_factory=dict)


def assignment_of(
    challenge_id: str | None,
    file: Path | None,
    time_limit: float | None,
    memory_limit: int | None,
    known_packs: KnownPacks,
) -> Assignment:
    """Return the assignment that the options describe.

    Raises:
        DrillError: an option or the file has a fault.
    """
    if (challenge_id is None) == (file is None):
        raise DrillError(
            "Name the challenge with --challenge ID, or an assignment with --assignment FILE, for"
            " several challenges or for weights. Give one of the two options."
        )
    if file is not None:
        assignment = read_assignment(file, known_packs.find)
    else:
        challenge = known_packs.find(str(challenge_id))
        assignment = replace(plain_assignment(challenge.id), title=challenge.title)
    seconds = assignment.seconds if time_limit is None else time_limit
    memory_mib = assignment.memory_mib if memory_limit is None else memory_limit
    check_limits(seconds, memory_mib)
    return replace(assignment, seconds=seconds, memory_mib=memory_mib)


def check_weights_of(assignment: Assignment, file: Path, packs: Sequence[Path], seed: int) -> None:
    """Check that each challenge has the checks whose weights the assignment changes.

    Raises:
        DrillError: a challenge does not have a check.
        GraderError: the reference of a challenge cannot be graded here.
    """

    def due(challenge: str) -> list[str]:
        reply = pool.ask(tuple(map(str, packs)), GradeReference(challenge, seed))
        if isinstance(reply, VerdictMessage):
            return list(reply.report.statuses())
        raise GraderError(refusal(reply))

    check_weights(assignment, due, file)


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
    if single and roster_file is not None:
        raise DrillError(
            "--roster lists a class, but with --single DIR is one student's work. Leave out one of"
            " the two options."
        )
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
        submitted_file is not None,
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
