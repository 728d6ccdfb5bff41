"""Find the student that a person names."""

from __future__ import annotations

import difflib
from collections.abc import Collection, Sequence
from dataclasses import replace
from functools import lru_cache

from trainer.classroom.anonymous import anonymous_ids
from trainer.classroom.name_forms import folded, in_order, key_form, name_forms, without_accents
from trainer.classroom.records import Student
from trainer.classroom.roster import ids_in
from trainer.model.errors import DrillError
from trainer.model.listing import first_of

BY_ID = "Name the student by id."
_MOST_NAMED = 5  # students in one sentence


def key_of(student: Student, keys: Collection[str]) -> str | None:
    """Return the key that names a student, or None.

    A key may be the student's id, user name, e-mail address, or name in any form that
    `roster.match` accepts. The id decides first, the name last.

    Args:
        student: a student of the class.
        keys: the words that a person wrote, for example the first column of a table.
    """
    found = keys_of(student, keys)
    return found[0] if found else None


def keys_of(student: Student, keys: Collection[str]) -> list[str]:
    """Return all keys that name a student, in the order of `key_of`."""
    by_form = {key_form(key): key for key in keys}
    ids = (student.id, student.system_id, *ids_in(student.row))
    local_part = student.email.partition("@")[0]
    own_words = (*ids, student.login, student.email, local_part, student.name)
    found = [by_form[key_form(own)] for own in own_words if own and key_form(own) in by_form]
    forms = name_forms(student.name)
    plain = {without_accents(form) for form in forms}
    found += [key for key in keys if _in_one_word(key)[0] in forms]
    without_accent = [key for key in keys if _in_one_word(key)[1] in plain]
    if not found and len(without_accent) == 1:
        found = without_accent
    return list(dict.fromkeys(found))


@lru_cache(maxsize=10_000)  # every student of a class is compared with the same keys
def _in_one_word(name: str) -> tuple[str, str]:
    """Return a name as `folded` and as `without_accents`, with the first name first."""
    ordered = in_order(name)
    return folded(ordered), without_accents(ordered)


def student_called(words: str, students: Sequence[Student], salt: str = "") -> Student:
    """Return the student with this name, id, user name, e-mail address or anonymous id.

    Args:
        words: the words of the person.
        students: the students of the class.
        salt: the secret of the anonymous ids.

    Raises:
        DrillError: no student fits, or several do.
    """
    fitting = students_called(words, students, salt)
    if len(fitting) == 1:
        return fitting[0]
    if fitting:
        raise DrillError(f"{words!r} {fits_words(fitting)}. {BY_ID}")
    near = difflib.get_close_matches(words, [student.name for student in students], n=3, cutoff=0.5)
    hint = f"Did you mean {' or '.join(map(repr, near))}?" if near else "grades.csv has all names."
    raise DrillError(f"No student of this class is called {words!r}. {hint}")


def students_called(words: str, students: Sequence[Student], salt: str = "") -> list[Student]:
    """Return all students with this name, id, user name, e-mail address or anonymous id."""
    for student in students:
        if student.name == words:
            return [student]
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
        if student.name == anonymous or key_of(student, (words,)) is not None
    ]
    # "Ana Lee" also fits "Ana Lee (101)" and "Ana Lee (102)".
    return fitting or [
        student
        for student in students
        if (plain := student.name.removesuffix(f" ({student.id})")) != student.name
        and key_of(replace(student, name=plain), (words,)) is not None
    ]


def fits_words(students: Sequence[Student]) -> str:
    """Return "fits 2 students: Sam (5), Sue (6)"."""
    return f"fits {len(students)} students: {_listed(students)}"


def _listed(students: Sequence[Student]) -> str:
    names = [
        f"{student.name} ({student.id})"
        if student.id and not student.name.endswith(f"({student.id})")
        else student.name
        for student in students
    ]
    return first_of(names, _MOST_NAMED)
