"""Find the marks that a run changed, and the reason of each change."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from trainer.classroom.class_record import ClassRecord, Mark
from trainer.classroom.class_results import TOTAL

_NO_MARK = Mark(None)


@dataclass(frozen=True)
class ChangedMark:
    """A mark that another run would have written differently.

    Attributes:
        student: the name of the student.
        challenge: the id of the challenge, or "" for the total.
        before: the points of the earlier run, or None.
        after: the points of this run, or None.
        reason: the cause in a few words.
    """

    student: str
    challenge: str
    before: float | None
    after: float | None
    reason: str


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
    is_newer = before.version != now.version
    newer = f"attn-drill {now.version} in place of {before.version}"
    if new.override != old.override:
        return "override" if new.override is not None else "override taken back"
    if new.text != old.text:
        return "new file" if new.text else "no file any more"
    if new.task != old.task:
        return newer if is_newer else "other cases, limits or challenge"
    if new.score != old.score:
        if old.score is None:
            return "graded now"
        return newer if is_newer and not _has_other_weights(before, now) else "weights"
    if new.penalty != old.penalty:
        return "due time, penalty or time of the submission"
    return "assignment"


def _has_other_weights(before: ClassRecord, now: ClassRecord) -> bool:
    return before.assignment.challenges != now.assignment.challenges
