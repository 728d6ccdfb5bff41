"""Choose the file to grade for each student and challenge, from all files of a class.

Three steps: whose file is it, which files are the newest, and which of them is the answer. An
answer is a file that defines a name that the challenge asks for. If that does not decide, nothing
is graded, and a person must settle it.
"""

from __future__ import annotations

import os
import re
from collections import defaultdict
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from trainer.classroom.handed_in import (
    LAYOUTS,
    NOTEBOOK,
    PYTHON,
    ZIP,
    HandedIn,
    files_in,
    inside,
    is_outside,
    shown,
    single_file,
)
from trainer.classroom.lms_names import (
    LmsName,
    blackboard_user,
    read_name,
    system_of_names,
    user_in_receipt,
)
from trainer.classroom.records import Student, StudentSubmission
from trainer.classroom.roster import Roster
from trainer.classroom.students import StudentIndex, key_form, with_unique_names
from trainer.model.challenge import Challenge
from trainer.model.errors import DrillError
from trainer.model.listing import first_of
from trainer.practice.learner_files import decode_source
from trainer.practice.notebook_file import defined_names, python_of, undefined

ANSWERS = (PYTHON, NOTEBOOK, ZIP)
_MOST_NAMED = 5  # files or names in one sentence
_MOST_READ = 30  # files of one student in which the answers are looked for
# Canvas numbers a later upload of the same file name: `gqa-2.py`.
_NUMBERED = re.compile(r"(.+)-([0-9]{1,18})(\.[^.]+)", re.DOTALL)


@dataclass(frozen=True)
class Collected:
    """The submissions in a folder or an archive.

    Attributes:
        students: all students, sorted by name; with a roster, also those who handed in nothing.
        submissions: one for each student with files and each challenge, sorted by student.
        ignored: the paths of the files that are no answer, with the reason if it is not obvious.
        notes: sentences about names that have more than one possible reading.
    """

    students: list[Student]
    submissions: list[StudentSubmission]
    ignored: list[str]
    notes: list[str] = field(default_factory=list)


@dataclass
class _Upload:
    """A file or a folder at the top of a class, with all files in it.

    Attributes:
        place: the path in messages. The path of a folder ends in a slash.
        name: the name without the slash.
        files: the files.
        lms: the parts of the name that a system wrote, or None.
    """

    place: str
    name: str
    files: list[HandedIn]
    lms: LmsName | None = None

    @property
    def is_folder(self) -> bool:
        return self.place.endswith("/")

    @property
    def is_loose(self) -> bool:
        """True for a file that may be from anybody, and that is no answer."""
        return not (self.lms or self.is_folder or self.name.lower().endswith(ANSWERS))

    @property
    def order(self) -> tuple[str, int]:
        """The attempt and the number of the upload, which grow with time."""
        return (self.lms.attempt, self.lms.upload) if self.lms else ("", 0)


class _Content(NamedTuple):
    """The content of a file.

    Attributes:
        source: the Python source; of a notebook, the part with the names that are asked for.
        defines: the names that the source defines.
        is_broken: True if Python cannot read the source.
        problem: the reason why the file is no answer by the names that it defines, or "".
    """

    source: str = ""
    defines: frozenset[str] = frozenset()
    is_broken: bool = False
    problem: str = ""


@dataclass(frozen=True)
class _File:
    """A file of one student.

    Attributes:
        file: the file.
        name: the student's own path of the file.
        upload: the upload that holds the file.
        challenges: the challenges of the assignment.
    """

    file: HandedIn
    name: str
    upload: _Upload
    challenges: Sequence[Challenge]

    @property
    def path(self) -> str:
        """The path in messages."""
        return self.file.path

    @cached_property
    def version(self) -> tuple[str, tuple[str, int, int]]:
        """The student's own name without Canvas' number of the upload, and the order in time."""
        numbered = _NUMBERED.fullmatch(self.name) if self.upload.order[1] else None
        is_challenge = _stem(self.name) in {_stem(each.file_name) for each in self.challenges}
        if numbered is None or is_challenge:  # `step-1.py` may be the name of a challenge
            return self.name, (*self.upload.order, 0)
        return numbered[1] + numbered[3], (*self.upload.order, int(numbered[2]))

    @cached_property
    def content(self) -> _Content:
        """The source and the names that it defines, or the reason why it is no answer."""
        if not self.file.problem and self.file.suffix not in (PYTHON, NOTEBOOK):
            return _Content(problem=f"{self.path} is neither a Python file nor a notebook.")
        wanted = dict.fromkeys(name for each in self.challenges for name in each.entry)
        try:
            source = decode_source(self.file.read(), self.path, "The upload may have failed.")
            if self.file.suffix == NOTEBOOK:
                source = python_of(source, self.path, wanted)
        except DrillError as error:
            return _Content(problem=str(error))
        names, is_readable = defined_names(source)
        problem = f"{self.path} is not valid Python."
        if is_readable:
            problem = undefined(self.path, wanted, names) if names.isdisjoint(wanted) else ""
        return _Content(source, frozenset(names), not is_readable, problem)

    def fits(self, challenge: Challenge) -> tuple[str, int, bool, bool, int]:
        """Return how well the file fits a challenge. Of two files, the greater counts.

        The last attempt counts most, then the names that the file defines, then its own name. A
        Python file counts more than a notebook, and a file at the top more than one in a folder.
        """
        return (
            self.upload.order[0],
            len(self.content.defines.intersection(challenge.entry)),
            _stem(self.version[0]) == _stem(challenge.file_name),
            self.file.suffix == PYTHON,
            -self.name.count("/"),
        )


def _stem(path: str) -> str:
    """Return the name of a file in small letters, without its suffix, with underscores."""
    name = path.rpartition("/")[2].lower().replace("-", "_")
    return os.path.splitext(name)[0]


def collect(
    folder_or_zip: Path, challenges: Sequence[Challenge], roster: Roster | None = None
) -> Collected:
    """Return the submissions of a class for these challenges.

    Args:
        folder_or_zip: a folder or a zip.
        challenges: the challenges of the assignment.
        roster: the students of the class, or None if they are not known.

    Raises:
        DrillError: the folder or zip does not exist, holds no submission, or is broken as a whole.
    """
    ignored: list[str] = []
    uploads = _uploads(folder_or_zip, challenges, ignored)
    notes = _read_names(uploads, roster)
    owned = _owners(uploads, roster, ignored)
    if not any(own for _, own in owned):
        raise DrillError(f"{shown(str(folder_or_zip))} holds no submission. {LAYOUTS}")
    students = with_unique_names([student for student, _ in owned])
    by_name: dict[str, tuple[Student, list[_Upload]]] = {}
    for student, (_, own) in zip(students, owned, strict=True):
        # Names that differ only in capitals or blanks are one name.
        by_name.setdefault(key_form(student.name), (student, []))[1].extend(own)
    submissions = [
        submission
        for _, (student, own) in sorted(by_name.items())
        if own
        for submission in _submissions(student.name, own, challenges, ignored)
    ]
    students = [student for _, (student, _) in sorted(by_name.items())]
    return Collected(students, submissions, sorted(ignored), notes)


def collect_single(path: Path, challenges: Sequence[Challenge]) -> Collected:
    """Return the submissions of one student. The name of the student is the name of the path.

    Args:
        path: the student's folder, .zip, .py or .ipynb.
        challenges: the challenges of the assignment.

    Raises:
        DrillError: the path does not exist or is another file.
    """
    name = shown(os.path.basename(os.path.abspath(path)))
    if not path.is_file():
        upload = _Upload(f"{name}/", name, files_in(path))
    elif path.suffix.lower() in ANSWERS:
        upload = _Upload(name, name, [single_file(path)])
        name = os.path.splitext(name)[0]
    else:
        raise DrillError(f"{name} is neither a folder nor a .zip, .py or .ipynb. {LAYOUTS}")
    ignored: list[str] = []
    submissions = _submissions(name, [upload], challenges, ignored)
    return Collected([Student(name, upload=upload.name)], submissions, ignored)


# Whose file is it?


def _uploads(place: Path, challenges: Sequence[Challenge], ignored: list[str]) -> list[_Upload]:
    """Return the files and folders at the top of a class, sorted by path.

    Add results of an earlier run and paths that lead out of an archive to `ignored`.
    """
    files = files_in(place)
    outside = [file for file in files if file.problem and is_outside(file.path)]
    ignored += [file.problem for file in outside]
    files = [file for file in files if file not in outside]
    common = "" if place.is_dir() else _common_folder(files, challenges)
    uploads: dict[str, _Upload] = {}
    for file in files:
        top, slash, _ = file.path.removeprefix(common).partition("/")
        upload = uploads.setdefault(top + slash, _Upload(common + top + slash, top, []))
        upload.files.append(file)
    for top, upload in [*uploads.items()]:
        if {f"{upload.place}class.json"} <= {file.path for file in upload.files}:
            ignored.append(f"{upload.place} (results of an earlier run)")
            del uploads[top]
    return list(uploads.values())


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
    stems = {_stem(challenge.file_name) for challenge in challenges}
    if any(not is_folder and _stem(name) in stems for name, is_folder in names):
        return ""
    students = sum(is_folder or name.lower().endswith(ANSWERS) for name, is_folder in names)
    return f"{top}/" if students > 1 or system_of_names(names) else ""


def _read_names(uploads: Sequence[_Upload], roster: Roster | None) -> list[str]:
    """Read the names of the class's system, and return a note about guessed users."""
    system = system_of_names([(upload.name, upload.is_folder) for upload in uploads])
    for upload in uploads:
        upload.lms = read_name(upload.name, upload.is_folder, system)
    if system != "blackboard":
        return []
    users = [student.login for student in roster.students] if roster else []
    for upload in uploads:
        if upload.lms and upload.lms.is_receipt:
            with suppress(DrillError):
                users.append(user_in_receipt(upload.files[0].read().decode(errors="replace")))
    guesses: dict[str, str] = {}
    for upload in uploads:
        if upload.lms:
            head = upload.lms.student
            user, is_guess = blackboard_user(head, users)
            upload.lms = replace(upload.lms, student=user, id=user)
            if is_guess:
                guesses[head] = f"{user} from {head}"
    if not guesses:
        return []
    return [
        "Blackboard's file names do not show where the user name begins. Guessed:"
        f" {first_of([*guesses.values()], _MOST_NAMED)}. If a guess is wrong, give a --roster, or"
        " put Blackboard's .txt receipts next to the files."
    ]


def _owners(
    uploads: Sequence[_Upload], roster: Roster | None, ignored: list[str]
) -> list[tuple[Student, list[_Upload]]]:
    """Return each student with the uploads, and the students of the roster without any.

    Add loose files that belong to nobody and are no answers to `ignored`.
    """
    index = StudentIndex(roster.students if roster else ())
    owners: dict[tuple[str, ...], tuple[Student, list[_Upload]]] = {}
    possible: dict[str, list[str]] = defaultdict(list)
    for upload in sorted(uploads, key=lambda upload: upload.order):
        student = _student(upload)
        key: tuple[str, ...] = (student.system, student.id or key_form(student.name))
        fitting = _fitting(student, index, roster)
        if len(fitting) == 1:
            student, key = _in_roster(student, fitting[0]), ("roster", fitting[0].name)
        elif upload.is_loose:
            ignored.extend(file.path for file in upload.files)
            continue
        elif fitting:
            names = [each.name for each in fitting]
            note = f"the name fits {' and '.join(names[:_MOST_NAMED])}"
            student = replace(student, is_in_roster=False, notes=(note,))
            for name in names:
                possible[name].append(upload.place)
        elif roster:
            student = replace(student, is_in_roster=False)
        first, own = owners.get(key, (student, []))
        is_newer = bool(own) and upload.order > own[-1].order
        owners[key] = (student if is_newer else first, [*own, upload])
    present = {student.name for student, _ in owners.values() if student.is_in_roster}
    for student in roster.students if roster else ():
        if student.name not in present:
            places = ", ".join(possible[student.name])
            notes = (f"{places} may belong to this student",) if places else ()
            owners["roster", student.name] = (replace(student, notes=notes), [])
    return list(owners.values())


def _student(upload: _Upload) -> Student:
    """Return the student whom the name of an upload names."""
    lms = upload.lms
    if lms is None:
        is_answer = not upload.is_folder and upload.name.lower().endswith(ANSWERS)
        has_suffix = is_answer or upload.is_loose
        name = os.path.splitext(upload.name)[0] if has_suffix else upload.name
        return Student(name, upload=upload.name)
    login = lms.id if lms.system == "blackboard" else ""
    return Student(
        lms.student,
        id=lms.id,
        login=login,
        system=lms.system,
        system_id=lms.id,
        upload=upload.name,
    )


def _fitting(student: Student, index: StudentIndex, roster: Roster | None) -> list[Student]:
    """Return the students of the roster whom the student of an upload may be.

    If the roster is the export of the system that wrote the name, the id decides: a person with
    another id is another person, even with the same name.
    """
    fitting = index.find_all(student.name)
    if roster and student.system and student.system == roster.system:
        key = key_form(student.system_id)
        by_id = [each for each in roster.students if key_form(each.system_id) == key]
        return by_id or [each for each in fitting if not each.system_id]
    return fitting


def _in_roster(student: Student, entry: Student) -> Student:
    """Return a student of the roster with the data of the upload."""
    return replace(
        entry,
        id=entry.id or student.id,
        login=entry.login or student.login,
        system=student.system or entry.system,
        system_id=student.system_id or entry.system_id,
        upload=student.upload,
    )


# Which file is the answer?


def _submissions(
    student: str, uploads: Sequence[_Upload], challenges: Sequence[Challenge], ignored: list[str]
) -> list[StudentSubmission]:
    """Return a student's submission for each challenge. Add other files to `ignored`."""
    files = _files(uploads, challenges)
    latest = _latest(files)
    read = [file for file in latest if file.file.suffix in (PYTHON, NOTEBOOK)]
    read = sorted(read, key=lambda file: file.name.count("/"))[:_MOST_READ]
    candidates = {challenge.id: _candidates(read, challenge) for challenge in challenges}
    used = {file.path for found in candidates.values() for file in found}
    last = max((file.upload.order[0] for file in latest), default="")
    unfit = [file for file in latest if file.path not in used and file.upload.order[0] == last]
    place = uploads[0].place
    submissions: list[StudentSubmission] = []
    for challenge in challenges:
        found = candidates[challenge.id]
        submission = StudentSubmission(student, challenge.id, place, None)
        if not found:
            submission = _without_answer(submission, challenge, unfit, is_empty=not used)
        else:
            submission = _with_answer(submission, challenge, found)
        submissions.append(submission)
    if any(submission.is_ungraded for submission in submissions):
        used |= {file.path for file in unfit}  # the reason names them
    current = {file.path for file in latest}
    others = [
        file.path if file.path in current else f"{file.path} (an older upload)"
        for file in files
        if file.path not in used
    ]
    if others:
        ignored.append(first_of(others, _MOST_NAMED))
    return submissions


def _files(uploads: Sequence[_Upload], challenges: Sequence[Challenge]) -> list[_File]:
    """Return all files of a student, with the files in each zip. Receipts do not count."""
    is_only_receipts = all(upload.lms and upload.lms.is_receipt for upload in uploads)
    files: list[_File] = []
    for upload in uploads:
        if upload.lms and upload.lms.is_receipt and not is_only_receipts:
            continue
        for file in upload.files:
            name = file.path.removeprefix(upload.place) or upload.name
            if upload.lms and upload.lms.file:
                name = upload.lms.file
            found = inside(file) if file.suffix == ZIP and not file.problem else [file]
            files += [
                _File(each, name + each.path.removeprefix(file.path), upload, challenges)
                for each in found
            ]
    return files


def _latest(files: Sequence[_File]) -> list[_File]:
    """Return the newest file of each name. A later upload replaces a file of the same name."""
    newest: dict[str, tuple[str, int, int]] = {}
    for file in files:
        name, order = file.version
        newest[name] = max(newest.get(name, order), order)
    return [file for file in files if file.version[1] == newest[file.version[0]]]


def _candidates(files: Sequence[_File], challenge: Challenge) -> list[_File]:
    """Return the files that may answer a challenge.

    A file that Python cannot read counts by its name, too, or if it is the only file.
    """
    defining = [file for file in files if file.content.defines.intersection(challenge.entry)]
    broken = [file for file in files if file.content.is_broken]
    named = [file for file in broken if _stem(file.version[0]) == _stem(challenge.file_name)]
    return defining or named or (broken if len(files) == 1 else [])


def _with_answer(
    submission: StudentSubmission, challenge: Challenge, found: Sequence[_File]
) -> StudentSubmission:
    """Return the submission with the best of the files, or the reason why none is the best."""
    best = max(file.fits(challenge) for file in found)
    answers = [file for file in found if file.fits(challenge) == best]
    # Two files or folders of one name have no order in time.
    uploads = {file.upload.place for file in found if file.upload.lms is None}
    rivals = found if len(uploads) > 1 else answers
    if len({file.content.source for file in rivals}) > 1:
        paths = [file.path for file in rivals]
        trouble = (
            f"There are {len(paths)} answers to {challenge.id}: {first_of(paths, _MOST_NAMED)}."
            " Remove or rename all but one, then grade again with --resume."
        )
        return replace(submission, file=paths[0], trouble=trouble)
    answer = answers[0]
    lms = answer.upload.lms
    is_moodle = lms is not None and lms.system == "moodle"
    return replace(
        submission,
        file=answer.path,
        source=answer.content.source,
        submitted=answer.file.modified if is_moodle else lms.submitted if lms else None,
        is_marked_late=lms is not None and lms.is_marked_late,
        has_late_marks=lms is not None and lms.system == "canvas",
        alternatives=tuple(
            file.path
            for file in found
            if file is not answer and file.upload.order[0] == answer.upload.order[0]
        ),
    )


def _without_answer(
    submission: StudentSubmission, challenge: Challenge, unfit: Sequence[_File], *, is_empty: bool
) -> StudentSubmission:
    """Return the submission with the reason why it has no answer.

    Args:
        submission: the submission.
        challenge: its challenge.
        unfit: the files of the student that fit no challenge. A person must look at them.
        is_empty: True if the student has no file that fits a challenge.
    """
    name = challenge.file_name
    if not unfit:
        trouble = f"There is no {name}, and no other file defines {' or '.join(challenge.entry)}."
        return replace(submission, trouble=trouble, is_missing=not is_empty)
    first = min(unfit, key=lambda file: file.file.suffix not in ANSWERS)
    others = [file.path for file in unfit if file is not first]
    more = f" {first_of(others, _MOST_NAMED)}: no answer, either." if others else ""
    trouble = f"{first.content.problem}{more} Look at it, or ask for {name}."
    return replace(submission, file=submission.file if others else first.path, trouble=trouble)
