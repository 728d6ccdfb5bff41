"""Find out which student each upload of a class belongs to.

The file names of a learning management system and the roster show it.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from trainer.classroom.archives import FileError
from trainer.classroom.lms_names import (
    LmsName,
    LmsNames,
    is_receipt,
    normalised_name,
    read_names,
)
from trainer.classroom.name_forms import key_form
from trainer.classroom.records import Student
from trainer.classroom.roster import Match, Roster, match
from trainer.classroom.uploads import ANSWER_SUFFIXES, Upload, suffix, valid_text
from trainer.model.challenge import Challenge
from trainer.model.listing import first_of

_MOST_GUESSES = 3  # user names in one sentence
_MOST_CANDIDATES = 5  # students in one sentence


@dataclass(frozen=True)
class Uploader:
    """A student with all uploads.

    Attributes:
        student: the student.
        uploads: sorted by path, each with the parsed name if a learning management system wrote
            the name.
    """

    student: Student
    uploads: Sequence[tuple[Upload, LmsName | None]]

    @property
    def name(self) -> str:
        """The name of the student."""
        return self.student.name

    @property
    def place(self) -> str:
        """The path of the first upload that messages show."""
        return self.uploads[0][0].place


def lms_names(uploads: Sequence[Upload], challenges: Sequence[Challenge]) -> LmsNames:
    """Parse the names of all uploads, with the help of Blackboard's receipts."""
    receipts: dict[str, str] = {}
    for upload in uploads:
        if is_receipt(upload.name) and not upload.is_folder:
            with suppress(FileError):
                receipts[upload.name] = upload.files[0].read(())
    known = {
        normalised_name(text).replace(" ", "_")
        for challenge in challenges
        for text in (challenge.id, challenge.title, Path(challenge.file_name).stem)
    }
    names = [(upload.name, upload.is_folder) for upload in uploads]
    return read_names(names, known, receipts)


def guessed_users(names: LmsNames) -> list[str]:
    """Return a sentence that lists the guessed users in Blackboard's names, if there are any."""
    if not names.guessed:
        return []
    shown = [
        f"{valid_text(user)} from {valid_text(head)}"
        for head, user in sorted(names.guessed.items())
    ]
    return [
        "Blackboard's file names do not show where the user name begins. "
        f"Guessed: {first_of(shown, _MOST_GUESSES)}. "
        "If a guess is wrong, put Blackboard's .txt receipts next to the files."
    ]


def uploaders(uploads: Sequence[Upload], names: LmsNames, ignored: list[str]) -> list[Uploader]:
    """Return the uploads of each student together. Ignore loose files that are not answers."""
    readings = [names.by_name.get((upload.name, upload.is_folder)) for upload in uploads]
    is_canvas = any(
        reading and not reading.certain and suffix(reading.file) in ANSWER_SUFFIXES
        for reading in readings
    )
    owned: dict[tuple[str, ...], list[tuple[Upload, LmsName | None]]] = defaultdict(list)
    pairs = sorted(zip(uploads, readings, strict=True), key=lambda pair: pair[0].place)
    for upload, reading in pairs:
        is_lms_name = reading is not None and (reading.certain or is_canvas)
        if upload.is_folder or is_lms_name or suffix(upload.name) in ANSWER_SUFFIXES:
            owner = reading.key if reading else (upload.place,)
            owned[owner].append((upload, reading))
        else:
            trouble = upload.files[0].trouble
            ignored.append(f"{upload.place} ({trouble})" if trouble else upload.place)
    return [Uploader(_student(own), own) for own in owned.values()]


def _student(uploads: Sequence[tuple[Upload, LmsName | None]]) -> Student:
    """Return the student whom the names of these uploads name."""
    upload, reading = max(uploads, key=lambda pair: _newness(pair[1]))
    if reading is None:
        return Student(upload.student, upload=valid_text(upload.name))
    system_id = valid_text(reading.id)
    return Student(
        valid_text(reading.student),
        id=system_id,
        login=system_id if reading.system == "blackboard" else "",
        system=reading.system,
        system_id=system_id,
        upload=valid_text(upload.name),
    )


def _newness(reading: LmsName | None) -> tuple[str, int]:
    return ("", 0) if reading is None else (reading.attempt, reading.upload)


def with_distinct_names(found: Sequence[Uploader]) -> list[Uploader]:
    """Return the uploaders with distinct names, as far as ids distinguish them.

    Add the student id if it distinguishes all students of the same name. Change no other name.
    """
    ids_by_name: dict[str, list[str]] = defaultdict(list)
    for uploader in found:
        student = uploader.student
        is_the_name = same_name(student.id) == same_name(student.name)
        ids_by_name[same_name(student.name)].append("" if is_the_name else student.id)
    distinct: list[Uploader] = []
    for uploader in found:
        student = uploader.student
        ids = ids_by_name[same_name(student.name)]
        if len(ids) > 1 and all(ids) and len(set(ids)) == len(ids):
            student = replace(student, name=f"{student.name} ({student.id})")
        distinct.append(replace(uploader, student=student))
    return distinct


def same_name(name: str) -> str:
    """Return the common form of names that differ only in case, Unicode form or spaces."""
    return " ".join(key_form(name).split())


# The roster


def with_roster(found: Sequence[Uploader], roster: Roster) -> list[Uploader]:
    """Return the uploaders with the names and ids of the roster, if the roster has them."""
    return [
        replace(uploader, student=_in_roster(uploader.student, matched))
        for uploader, matched in zip(found, _matches(found, roster), strict=True)
    ]


def missing_students(found: Sequence[Uploader], roster: Roster) -> list[Student]:
    """Return the students of the roster who handed in nothing.

    Args:
        found: the uploaders as the file names name them, before `with_roster`.
        roster: the students of the class.
    """
    matches = _matches(found, roster)
    present = {id(matched.entry) for matched in matches}
    missing: list[Student] = []
    for entry in roster.entries:
        if id(entry) in present:
            continue
        places = [
            valid_text(uploader.place)
            for uploader, matched in zip(found, matches, strict=True)
            if any(entry is candidate for candidate in matched.candidates)
        ]
        notes = (f"{', '.join(places)} may belong to this student",) if places else ()
        missing.append(replace(entry.student, notes=notes))
    return missing


def _matches(found: Sequence[Uploader], roster: Roster) -> list[Match]:
    students = [uploader.student for uploader in found]
    return match(
        roster, [(student.name, student.system, student.system_id) for student in students]
    )


def _in_roster(student: Student, matched: Match) -> Student:
    """Return a student with the data of the matching entry of the roster.

    If no entry matches or several do, the student keeps the name from the file.
    """
    if matched.entry is None:
        notes: tuple[str, ...] = ()
        if matched.candidates:
            names = [entry.student.name for entry in matched.candidates[:_MOST_CANDIDATES]]
            notes = (f"the name fits {' and '.join(names)}",)
        return replace(student, is_in_roster=False, notes=notes)
    entry = matched.entry.student
    return replace(
        entry,
        id=entry.id or student.id,
        login=entry.login or student.login,
        system=student.system or entry.system,
        system_id=student.system_id or entry.system_id,
        upload=student.upload,
    )
