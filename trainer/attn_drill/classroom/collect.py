"""Find the students and the submissions of a class in a folder or in a zip.

Two steps: whose file is it (here), and which file of a student is the answer (`answers.py`).
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from attn_drill.classroom.answers import ANSWERS, Upload, stem, submissions_of
from attn_drill.classroom.handed_in import (
    LAYOUTS,
    NOTEBOOK,
    PYTHON,
    HandedIn,
    files_in,
    is_outside,
    shown,
    single_file,
)
from attn_drill.classroom.lms_names import LmsName, blackboard_user, read_name, system_of_names
from attn_drill.classroom.records import Student, StudentSubmission
from attn_drill.classroom.result_store import CLASS_FILE
from attn_drill.classroom.roster import Roster
from attn_drill.classroom.students import StudentIndex, key_form, with_unique_names
from attn_drill.model.challenge import Challenge
from attn_drill.model.errors import DrillError
from attn_drill.model.listing import first_of


@dataclass(frozen=True)
class Collected:
    """The submissions in a folder or an archive.

    Attributes:
        students: all students of the roster in its order, then all others, sorted by name.
        submissions: one for each student with files and each challenge, in the same order.
        ignored: the paths of the files that are no answer, sometimes with the reason.
        notes: sentences about names that have more than one possible reading.
    """

    students: list[Student]
    submissions: list[StudentSubmission]
    ignored: list[str]
    notes: list[str] = field(default_factory=list)


@dataclass
class _Owner:
    student: Student
    uploads: list[Upload] = field(default_factory=list)


def collect(
    folder_or_zip: Path, challenges: Sequence[Challenge], roster: Roster | None = None
) -> Collected:
    """Return the submissions of a class, or raise DrillError if there are none."""
    ignored: list[str] = []
    uploads = _uploads(folder_or_zip, challenges, ignored)
    notes = _read_names(uploads, roster)
    owners = _owners(uploads, roster, ignored)
    if not any(owner.uploads for owner in owners):
        raise DrillError(f"{shown(str(folder_or_zip))} holds no submission. {LAYOUTS}")
    # Two students of one name would have one result.
    by_name: dict[str, _Owner] = {}
    students = with_unique_names([owner.student for owner in owners])
    for student, owner in zip(students, owners, strict=True):
        by_name.setdefault(key_form(student.name), _Owner(student)).uploads += owner.uploads
    owners = list(by_name.values())
    submissions = [
        submission
        for owner in owners
        if owner.uploads
        for submission in submissions_of(owner.student.name, owner.uploads, challenges, ignored)
    ]
    return Collected([owner.student for owner in owners], submissions, sorted(ignored), notes)


def collect_single(path: Path, challenges: Sequence[Challenge]) -> Collected:
    """Return the submissions of one student, who has the name of the path, or raise DrillError."""
    name = shown(os.path.basename(os.path.abspath(path)))
    if path.is_file() and path.suffix.lower() in (PYTHON, NOTEBOOK):
        upload = Upload(name, name, [single_file(path)])
    else:
        upload = Upload(f"{name}/", name, files_in(path))
    if path.is_file():
        name = os.path.splitext(name)[0]
    ignored: list[str] = []
    submissions = submissions_of(name, [upload], challenges, ignored)
    return Collected([Student(name, upload=upload.name)], submissions, ignored)


# Whose file is it?


def _uploads(place: Path, challenges: Sequence[Challenge], ignored: list[str]) -> list[Upload]:
    """Return the files and folders at the top of a class, sorted by path.

    Add results of an earlier run and paths that lead out of an archive to `ignored`.
    """
    files = files_in(place)
    ignored += [file.problem for file in files if file.problem and is_outside(file.path)]
    files = [file for file in files if not (file.problem and is_outside(file.path))]
    common = "" if place.is_dir() else _common_folder(files, challenges)
    uploads: dict[str, Upload] = {}
    for file in files:
        top, slash, _ = file.path.removeprefix(common).partition("/")
        upload = uploads.setdefault(top + slash, Upload(common + top + slash, top, []))
        upload.files.append(file)
    paths = {file.path for file in files}
    runs = [each for each in uploads.values() if each.place + CLASS_FILE in paths]
    ignored += [f"{run.place} (results of an earlier run)" for run in runs]
    return [upload for upload in uploads.values() if upload not in runs]


def _common_folder(files: Sequence[HandedIn], challenges: Sequence[Challenge]) -> str:
    """Return the only folder at the top of a zip, with a slash, if it holds the whole class.

    The folder of one student holds a file with the name of a challenge, or only one file.
    """
    tops = {file.path.partition("/")[0] for file in files}
    top = next(iter(tops), "")
    if len(tops) != 1 or files[0].path == top or system_of_names([(top, True)]):
        return ""
    inner = {file.path.removeprefix(f"{top}/").partition("/")[:2] for file in files}
    names = [(name, bool(slash)) for name, slash in inner]
    stems = {stem(challenge.file_name) for challenge in challenges}
    if any(not is_folder and stem(name) in stems for name, is_folder in names):
        return ""
    students = sum(is_folder or name.lower().endswith(ANSWERS) for name, is_folder in names)
    return f"{top}/" if students > 1 or system_of_names(names) else ""


def _read_names(uploads: Sequence[Upload], roster: Roster | None) -> list[str]:
    """Read the names of the class's system, and return a note about guessed users."""
    system = system_of_names([(upload.name, upload.is_folder) for upload in uploads])
    for upload in uploads:
        name = upload.name if upload.is_folder else os.path.splitext(upload.name)[0]
        upload.lms = read_name(upload.name, upload.is_folder, system) or LmsName(student=name)
    users = [student.login for student in roster.students] if roster else []
    guesses: dict[str, str] = {}
    for upload in uploads:
        if upload.lms.system == "blackboard":
            head = upload.lms.student
            user = blackboard_user(head, users)
            upload.lms = replace(upload.lms, student=user, id=user)
            if user not in users and head.count("_") > 1:
                guesses[head] = f"{user} from {head}"
    if not guesses:
        return []
    return [
        "Blackboard's file names do not show where the user name begins. Guessed:"
        f" {first_of([*guesses.values()], 5)}. If a guess is wrong, give a --roster."
    ]


def _owners(uploads: Sequence[Upload], roster: Roster | None, ignored: list[str]) -> list[_Owner]:
    """Return the students of the roster in its order, then all others, sorted by name.

    Add loose files that belong to nobody and are no answers to `ignored`.
    """
    in_roster = {student.name: _Owner(student) for student in roster.students} if roster else {}
    index = StudentIndex(roster.students if roster else ())
    others: dict[tuple[str, str], _Owner] = {}
    for upload in sorted(uploads, key=lambda upload: upload.lms.order):
        student = _with_upload(Student(upload.lms.student), upload)
        fitting = index.find_all(student.name)
        if roster and student.system and student.system == roster.system:
            # The id decides: a person with another id is another person, even with the same name.
            by_id = [
                each
                for each in roster.students
                if key_form(each.system_id) == key_form(student.system_id)
            ]
            fitting = by_id or [each for each in fitting if not each.system_id]
        if len(fitting) == 1:
            owner = in_roster[fitting[0].name]
            student = _with_upload(owner.student, upload)
        elif not (upload.lms.system or upload.is_folder or upload.is_answer):
            ignored.extend(file.path for file in upload.files)
            continue
        else:
            key = (student.system, student.id or key_form(student.name))
            owner = others.setdefault(key, _Owner(student))
            student = replace(student, is_in_roster=False if roster else None)
        if len(fitting) > 1:
            names = " and ".join(each.name for each in fitting[:5])
            student = replace(student, notes=(f"the name fits {names}",))
            for each in fitting:
                possible = in_roster[each.name].student
                note = f"{upload.place} may belong to this student"
                in_roster[each.name].student = replace(possible, notes=(*possible.notes, note))
        owner.student = student  # feedback has the name of the newest upload
        owner.uploads.append(upload)
    by_name = sorted(others.values(), key=lambda owner: key_form(owner.student.name))
    return [*in_roster.values(), *by_name]


def _with_upload(student: Student, upload: Upload) -> Student:
    lms = upload.lms
    login = lms.id if lms.system == "blackboard" else ""
    return replace(
        student,
        id=student.id or lms.id,
        login=student.login or login,
        system=lms.system or student.system,
        system_id=lms.id or student.system_id,
        upload=upload.name,
    )
