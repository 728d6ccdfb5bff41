"""Give submissions the times that files next to them hold."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

from trainer.classroom.collect import Collected
from trainer.classroom.find_student import BY_ID, fits_words, keys_of, students_called
from trainer.classroom.records import Assignment, Student
from trainer.classroom.submitted import moodle_time, read_gradescope_metadata
from trainer.model.errors import DrillError
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

    Raises:
        DrillError: a student has two different times.
    """
    if not times:
        return collected, []
    fitting: dict[str, list[Student]] = {key: [] for key in times}
    for student in collected.students:
        for key in keys_of(student, times):
            fitting[key].append(student)
    keys = {
        student.name: [key for key in keys_of(student, times) if len(fitting[key]) == 1]
        for student in collected.students
    }
    found = {name: _time(name, own, times) for name, own in keys.items()}
    timed = _with(collected, found)
    present = {submission.student for submission in collected.submissions}
    absent = [own[0] for name, own in keys.items() if found[name] and name not in present]
    without = [
        submission.student
        for submission in timed.submissions
        if submission.submitted is None
        and not submission.is_missing
        and not submission.has_late_marks
    ]
    unused = [key for key, students in fitting.items() if not students]
    fitting |= {key: students_called(key, collected.students) for key in unused[:_MOST_NAMED]}
    sentences = [
        f"names “{key}”, which {fits_words(students)}. {BY_ID}"
        for key, students in fitting.items()
        if len(students) > 1
    ]
    sentences += [
        f"{words}: {_listed(names)}."
        for words, names in (
            ("names students who handed in nothing", absent),
            (
                "names students who are not in this class",
                [key for key in unused if len(fitting[key]) < 2],
            ),
            ("has no time for", list(dict.fromkeys(without))),
        )
        if names
    ]
    return timed, sentences


def _time(student: str, keys: Sequence[str], times: Mapping[str, float | None]) -> float | None:
    """Return the time that the keys of a student give, or None.

    Raises:
        DrillError: two keys give different times.
    """
    found = {key: time for key in keys if (time := times[key]) is not None}
    if len(set(found.values())) > 1:
        raise DrillError(
            f"The times have two lines with different times for {student}: {_listed([*found])}."
            " Remove the line that does not count."
        )
    return next(iter(found.values()), None)


def _listed(names: Sequence[str]) -> str:
    return first_of([f"“{name}”" for name in names], _MOST_NAMED)


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
        if submitted is not None and not submission.is_missing:
            submission = replace(submission, submitted=submitted)
        submissions.append(submission)
    return replace(collected, submissions=submissions)
