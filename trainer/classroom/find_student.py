"""Find the student of a graded class that a person names."""

from __future__ import annotations

import difflib
from collections.abc import Sequence

from trainer.classroom.anonymous import anonymous_ids
from trainer.classroom.records import Student
from trainer.classroom.submitted import find
from trainer.model.errors import DrillError

_MOST_NAMED = 5  # students in one sentence


def student_called(words: str, students: Sequence[Student], salt: str = "") -> Student:
    """Return the student with this name, id, user name, e-mail address or anonymous id.

    Args:
        words: the words of the person.
        students: the students of the class.
        salt: the secret of the anonymous ids.

    Raises:
        DrillError: no student fits, or several do.
    """
    for student in students:
        if student.name == words:
            return student
    by_anonymous_id = {
        anonymous_id.casefold(): name
        for name, anonymous_id in anonymous_ids(
            (student.name for student in students), salt
        ).items()
    }
    anonymous = by_anonymous_id.get(words.strip().casefold())
    fitting = [
        student
        for student in students
        if student.name == anonymous or find({words: True}, student) is not None
    ]
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise DrillError(
            f"{words!r} fits {len(fitting)} students: {_listed(fitting)}. Name the student by id."
        )
    near = difflib.get_close_matches(words, [student.name for student in students], n=3, cutoff=0.5)
    hint = f"Did you mean {' or '.join(map(repr, near))}?" if near else "grades.csv has all names."
    raise DrillError(f"No student of this class is called {words!r}. {hint}")


def _listed(students: Sequence[Student]) -> str:
    names = [
        f"{student.name} ({student.id})" if student.id else student.name for student in students
    ]
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return ", ".join(names[:_MOST_NAMED]) + more
