"""Keep the marks of a run, and find the marks that the next run changed, with the reasons."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from trainer.classroom.gradebook import TOTAL
from trainer.classroom.records import Gradebook
from trainer.classroom.result_store import ClassRecord, Job, Mark

_NO_MARK = Mark(None)


class ChangedMark(NamedTuple):
    """A mark that changed, and the cause in a few words. The challenge of the total is ""."""

    student: str
    challenge: str
    before: float | None
    after: float | None
    reason: str


def marks_of(gradebook: Gradebook, record: ClassRecord) -> dict[str, dict[str, Mark]]:
    """Return the marks of a class by student and challenge, with everything that decides them."""
    jobs = {(job.submission.student, job.submission.challenge): job for job in record.jobs}
    marks: dict[str, dict[str, Mark]] = {}
    for row in gradebook.rows:
        name = row.student.name
        decided = None if row.override is None else row.override.points
        own = marks[name] = {TOTAL: Mark(row.total, override=decided)}
        for challenge, grade in row.challenges.items():
            job: Job | None = jobs.get((name, challenge))
            own[challenge] = Mark(
                points=grade.points,
                score=grade.score,
                override=None if grade.override is None else grade.override.points,
                digest=job.digest if job else "",
                text=job.text if job else "",
            )
    return marks


def changed_marks(before: ClassRecord, now: ClassRecord) -> list[ChangedMark]:
    """Return the marks that differ between two runs, in the order of the students.

    A total is listed only if no challenge of the student explains its change.
    """
    return [
        change
        for student in dict.fromkeys((*now.marks, *before.marks))
        for change in _of_student(student, before, now)
    ]


def _of_student(student: str, before: ClassRecord, now: ClassRecord) -> Iterator[ChangedMark]:
    old_marks, new_marks = before.marks.get(student, {}), now.marks.get(student, {})
    is_explained = False
    for challenge in (*now.challenges, TOTAL):
        old, new = (marks.get(challenge, _NO_MARK) for marks in (old_marks, new_marks))
        if old.points == new.points or (challenge == TOTAL and is_explained):
            continue
        is_explained = True
        reason = _reason(old, new, before, now)
        if student not in now.marks:
            reason = "not in the class any more"
        yield ChangedMark(student, challenge, old.points, new.points, reason)


def _reason(old: Mark, new: Mark, before: ClassRecord, now: ClassRecord) -> str:
    """Return the first cause that the two marks show."""
    if new.override != old.override:
        return "override" if new.override is not None else "override taken back"
    if new.text != old.text:
        return "new file" if new.text else "no file any more"
    if new.score != old.score and old.score is None:
        return "graded now"
    if new.score != old.score and before.assignment.challenges != now.assignment.challenges:
        return "weights"
    if new.score != old.score and before.version != now.version:
        return f"attn-drill {now.version} in place of {before.version}"
    if new.digest != old.digest:
        return "other cases, limits or challenge"
    return "due time, penalty or another key of the assignment"
