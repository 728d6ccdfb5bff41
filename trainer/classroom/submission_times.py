"""Give submissions the times that files next to them hold."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from trainer.classroom.collect import Collected
from trainer.classroom.find_student import key_of
from trainer.classroom.records import Assignment
from trainer.classroom.submitted import moodle_time, read_gradescope_metadata
from trainer.model.listing import first_of

_MOST_NAMED = 5  # names in one sentence
_MOODLE_COLUMN = "Last modified (submission)"


def with_times(
    collected: Collected, times: Mapping[str, float | None]
) -> tuple[Collected, list[str]]:
    """Return the submissions with the times of `--submitted`, which replace the system's times.

    Args:
        collected: the students and submissions of a class.
        times: seconds since the epoch, by id, user name, e-mail address or name of the student;
            None if a student's time is empty.

    Returns:
        The submissions, and sentences about unused and missing times. Their subject is the file
        with the times.
    """
    present = {submission.student for submission in collected.submissions}
    keys = {student.name: key_of(student, times) for student in collected.students}
    found = {name: times[key] for name, key in keys.items() if key is not None and name in present}
    timed = _with(collected, found)
    absent = [key for name, key in keys.items() if key is not None and name not in present]
    without = [
        submission.student
        for submission in timed.submissions
        if submission.student in found and submission.submitted is None
    ]
    sentences = (
        ("names students who handed in nothing", [key for key in absent if times[key]]),
        (
            "names students who are not in this class",
            [key for key in times if key not in keys.values()],
        ),
        ("has no time for", list(dict.fromkeys(without))),
    )
    return timed, [
        f"{words}: {first_of(names, _MOST_NAMED)}." for words, names in sentences if names
    ]


def with_moodle_times(collected: Collected) -> Collected:
    """Return the submissions with the times of Moodle's grading worksheet, if it is the roster."""
    return _with(
        collected,
        {
            student.name: moodle_time(student.row.get(_MOODLE_COLUMN, ""))
            for student in collected.students
        },
    )


def with_gradescope(
    collected: Collected, assignment: Assignment, file: Path
) -> tuple[Collected, Assignment]:
    """Return a single student's submissions and the assignment, with Gradescope's metadata.

    The due time of the assignment counts before Gradescope's due time.
    """
    metadata = read_gradescope_metadata(file)
    entries = metadata.students
    students = [
        replace(student, id=entries[0].id, email=entries[0].email, system="gradescope")
        if entries
        else student
        for student in collected.students
    ]
    times = {student.name: metadata.submitted for student in students}
    if assignment.due is None:
        assignment = replace(assignment, due=metadata.due)
    return _with(replace(collected, students=students), times), assignment


def _with(collected: Collected, times: Mapping[str, float | None]) -> Collected:
    """Return the submissions with these times, by the name of the student.

    A submission keeps its time if the new time is None.
    """
    submissions = []
    for submission in collected.submissions:
        submitted = times.get(submission.student)
        if submitted is not None:
            submission = replace(submission, submitted=submitted)
        submissions.append(submission)
    return replace(collected, submissions=submissions)
