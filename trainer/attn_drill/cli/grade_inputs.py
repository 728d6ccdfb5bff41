"""Read everything that `grade` needs: the assignment, the submissions, the roster and the times."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from attn_drill.classroom.collect import Collected, collect, collect_single
from attn_drill.classroom.records import Assignment
from attn_drill.classroom.roster import Roster, read_roster
from attn_drill.classroom.students import by_student
from attn_drill.classroom.times import with_gradescope, with_times
from attn_drill.model.challenge import Challenge
from attn_drill.model.listing import first_of
from attn_drill.report.visible import visible
from attn_drill.report.wording import for_stream

_MOST_NAMED = 5  # names in one sentence
_GRADESCOPE_FILE = "submission_metadata.json"


@dataclass(frozen=True)
class ClassInputs:
    """The assignment, the submissions and the roster of a class."""

    assignment: Assignment
    collected: Collected
    roster: Roster | None


def read_class(
    folder: Path,
    assignment: Assignment,
    challenges: Sequence[Challenge],
    roster_file: str = "",
    *,
    single: bool = False,
) -> ClassInputs:
    """Read the submissions of a class, and say on stderr what is unclear.

    Args:
        roster_file: "" if there is no roster.
        single: the folder has the files of one student, as Gradescope unpacks them.
    """
    roster = read_roster(Path(roster_file)) if roster_file else None
    untimed: list[str] = []
    if single:
        collected = collect_single(folder, challenges)
        metadata = folder.absolute().parent / _GRADESCOPE_FILE
        if metadata.is_file():
            collected, assignment = with_gradescope(collected, assignment, metadata)
    else:
        collected = collect(folder, challenges, roster)
        if assignment.times:
            collected, untimed = with_times(collected, Path(assignment.times))
    extensions, unknown = by_student(
        assignment.extensions.items(), collected.students, "[extensions]"
    )
    # None stands for a class without a roster.
    strangers = [student.name for student in collected.students if student.is_in_roster is False]
    notes = list(collected.notes)
    for words, names in (
        ("Not graded, because nobody asked for it", collected.ignored),
        ("The roster does not have these students", strangers),
        (f"{assignment.times} names nobody of this class", untimed),
        ("[extensions] names nobody of this class", unknown),
    ):
        if names:
            notes.append(f"{words}: {first_of(names, _MOST_NAMED)}.")
    for note in notes:
        print(for_stream(visible(note), sys.stderr, hanging="    "), file=sys.stderr)
    return ClassInputs(replace(assignment, extensions=extensions), collected, roster)
