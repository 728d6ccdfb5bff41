"""Find the students and the submissions of a class in a folder or in a zip.

Three steps: read the name of a file (who, when), decide whose file it is, and decide which file of
a student is the answer.
"""

from __future__ import annotations

import os
import re
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

from attn_drill.classroom.handed_in import (
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
from attn_drill.classroom.records import Student, StudentSubmission, System
from attn_drill.classroom.result_store import CLASS_FILE
from attn_drill.classroom.roster import Roster, StudentIndex, key_form, with_unique_names
from attn_drill.model.challenge import Challenge
from attn_drill.model.errors import DrillError
from attn_drill.model.words import first_of
from attn_drill.practice.learner_files import decode_source
from attn_drill.practice.notebook_file import defined_names, python_of, undefined

# The groups `student` are lazy, so that the first mark counts. If two forms fit equally many names
# of a class, the first of them counts.
_FORMS: Mapping[System, re.Pattern[str]] = {
    "moodle": re.compile(
        r"(?P<student>.+?)_(?P<id>[0-9]{1,18})_assignsubmission_[a-z]+(?:_(?P<file>.*))?", re.DOTALL
    ),
    # The receipt of an attempt ends in .txt at once.
    "blackboard": re.compile(
        r"(?P<student>.+?)_attempt_(?P<attempt>[0-9]{4}(?:-[0-9]{2}){5})"
        r"(?:_(?P<file>.+)|\.txt)",
        re.DOTALL,
    ),
    "canvas": re.compile(
        r"(?P<student>.+?)(?P<late>_LATE)?_(?P<id>[0-9]{1,18})_(?P<upload>[0-9]{1,18})"
        r"_(?P<file>.+)",
        re.DOTALL,
    ),
}

ANSWERS = (PYTHON, NOTEBOOK, ZIP)
_MOST_READ = 30  # files of one student in which the answers are looked for
# Canvas numbers a later upload of the same file name: `gqa-2.py`.
_NUMBERED = re.compile(r"(.+)-[0-9]{1,18}(\.[^.]+)", re.DOTALL)


@dataclass(frozen=True)
class LmsName:
    """The parts of a name that a learning management system wrote.

    Attributes:
        system: "" for a name that a person chose.
        student: for Blackboard, `<assignment>_<user>`.
        id: Canvas' user id, or the number of Moodle's participant.
        file: the student's own name of the file; "" for a folder and for a receipt.
        attempt: the time of Blackboard's attempt as text that sorts by time.
        upload: Canvas' number of the upload, which grows with time.
    """

    system: System = ""
    student: str = ""
    id: str = ""
    file: str = ""
    attempt: str = ""
    upload: int = 0
    is_marked_late: bool = False

    @property
    def order(self) -> tuple[str, int]:
        """The attempt and the number of the upload, which grow with time."""
        return self.attempt, self.upload

    @property
    def is_receipt(self) -> bool:
        """True for Blackboard's receipt of an attempt."""
        return self.system == "blackboard" and not self.file

    @property
    def submitted(self) -> float | None:
        """The time of the attempt, which is local, in seconds since the epoch, or None."""
        try:
            return datetime.strptime(self.attempt, "%Y-%m-%d-%H-%M-%S").timestamp()
        except (ValueError, OverflowError, OSError):
            return None


def system_of_names(names: Collection[tuple[str, bool]]) -> System:
    """Return the system that wrote most of the names, each with True for a folder; "" for none.

    One class comes from one system. So a student cannot look like somebody else with a file name
    in the form of another system.
    """
    counts = Counter(dict.fromkeys(_FORMS, 0))
    for name, is_folder in names:
        counts.update(system for system in _FORMS if read_name(name, is_folder, system))
    system, count = counts.most_common(1)[0]
    return system if count and 2 * count >= len(names) else ""


def read_name(name: str, is_folder: bool, system: System) -> LmsName | None:
    """Return the parts of a name that the system wrote, or None."""
    parts = _FORMS[system].fullmatch(name) if system in _FORMS else None
    if parts is None or (is_folder and system != "moodle"):
        return None
    groups = parts.groupdict()
    return LmsName(
        system,
        parts["student"],
        groups.get("id") or "",
        parts["file"] or "",
        attempt=groups.get("attempt") or "",
        upload=int(groups.get("upload") or 0),
        is_marked_late=bool(groups.get("late")),
    )


def blackboard_user(head: str, users: Iterable[str]) -> str:
    """Return the user in `<assignment>_<user>`. Both parts may have underscores.

    The longest user of the roster that fits counts. Otherwise the user begins after the last
    underscore.

    >>> blackboard_user("HW_3_jane_doe", ["doe", "jane_doe"]), blackboard_user("HW_3_bob", [])
    ('jane_doe', 'bob')
    """
    end = f"_{head}".casefold()
    fitting = [user for user in users if user and end.endswith(f"_{user}".casefold())]
    return max(fitting, key=len, default=head.rpartition("_")[2] or head)


@dataclass
class Upload:
    """A file or a folder at the top of a class, with all files in it."""

    place: str  # the path in messages; that of a folder ends in a slash
    name: str  # without the slash
    files: list[HandedIn]
    lms: LmsName = field(default_factory=LmsName)  # the parts of the name

    @property
    def is_folder(self) -> bool:
        return self.place.endswith("/")

    @property
    def is_answer(self) -> bool:
        """True for a file that may be an answer or hold it."""
        return not self.is_folder and self.name.lower().endswith(ANSWERS)


class _Content(NamedTuple):
    """The source of a file and the names that it defines, or the reason why it is no answer."""

    source: str = ""  # of a notebook, only the part with the names that are asked for
    defines: frozenset[str] = frozenset()
    is_broken: bool = False  # Python cannot read the source
    problem: str = ""


@dataclass(frozen=True)
class _File:
    """A file of one student."""

    file: HandedIn
    name: str  # the student's own path
    upload: Upload
    challenges: Sequence[Challenge]

    @property
    def path(self) -> str:
        return self.file.path

    @cached_property
    def own_name(self) -> str:
        """The student's own path without Canvas' number of the upload."""
        top, slash, rest = self.name.partition("/")  # a zip may have a number, too
        numbered = _NUMBERED.fullmatch(top) if self.upload.lms.upload else None
        is_challenge = stem(top) in {stem(each.file_name) for each in self.challenges}
        if numbered is None or is_challenge:  # `step-1.py` may be the name of a challenge
            return self.name
        return numbered[1] + numbered[2] + slash + rest

    @cached_property
    def content(self) -> _Content:
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

    def fits(self, challenge: Challenge) -> tuple[int, bool, bool, int]:
        """Return how well the file fits a challenge. Of two files, the greater counts."""
        return (
            len(self.content.defines.intersection(challenge.entry)),
            self.has_name_of(challenge),
            self.file.suffix == PYTHON,
            -self.name.count("/"),
        )

    def has_name_of(self, challenge: Challenge) -> bool:
        return stem(self.own_name) == stem(challenge.file_name)


def stem(path: str) -> str:
    """Return the name of a file in small letters, without its suffix, with underscores.

    >>> stem("hw/KV-cache.py")
    'kv_cache'
    """
    name = path.rpartition("/")[2].lower().replace("-", "_")
    return os.path.splitext(name)[0]


def submissions_of(
    student: str, uploads: Sequence[Upload], challenges: Sequence[Challenge], ignored: list[str]
) -> list[StudentSubmission]:
    """Return a student's submission for each challenge.

    Add the paths of the files that are no answer, and that no reason names, to `ignored`.
    """
    files = _files(uploads, challenges)
    newest: dict[str, tuple[str, int]] = {}
    for file in files:
        order = file.upload.lms.order
        newest[file.own_name] = max(newest.get(file.own_name, order), order)
    # A later upload replaces a file of the same name.
    latest = [file for file in files if file.upload.lms.order == newest[file.own_name]]
    python = [file for file in latest if file.file.suffix in (PYTHON, NOTEBOOK)]
    python = sorted(python, key=lambda file: file.name.count("/"))[:_MOST_READ]
    candidates = {challenge.id: _candidates(python, challenge) for challenge in challenges}
    named = {file.path for fitting in candidates.values() for file in fitting}
    # A Python file, if there is one, may be the missing answer.
    unfit = [file for file in (*python, *latest) if file.path not in named]
    submissions: list[StudentSubmission] = []
    for challenge in challenges:
        submission = StudentSubmission(student, challenge.id, uploads[0].place, None)
        if fitting := candidates[challenge.id]:
            submissions.append(_with_answer(submission, challenge, fitting))
        elif unfit:
            path, problem = unfit[0].path, unfit[0].content.problem
            trouble = f"{problem} Look at it, or ask for {challenge.file_name}."
            submissions.append(replace(submission, file=path, trouble=trouble))
        else:
            entry = " or ".join(challenge.entry)
            trouble = f"There is no {challenge.file_name}, and no other file defines {entry}."
            submissions.append(replace(submission, trouble=trouble, is_missing=bool(named)))
    named |= {submission.file for submission in submissions}
    current = {file.path for file in latest}
    others = [
        file.path if file.path in current else f"{file.path} (an older upload)"
        for file in files
        if file.path not in named
    ]
    if others:
        ignored.append(first_of(others))
    return submissions


def _files(uploads: Sequence[Upload], challenges: Sequence[Challenge]) -> list[_File]:
    """Return all files of a student, with the files in each zip."""
    # Blackboard's receipts do not count if there is anything else.
    without_receipts = [upload for upload in uploads if not upload.lms.is_receipt]
    files: list[_File] = []
    for upload in without_receipts or uploads:
        for file in upload.files:
            name = upload.lms.file or file.path.removeprefix(upload.place) or upload.name
            in_file = inside(file) if file.suffix == ZIP and not file.problem else [file]
            files += [
                _File(each, name + each.path.removeprefix(file.path), upload, challenges)
                for each in in_file
            ]
    return files


def _candidates(files: Sequence[_File], challenge: Challenge) -> list[_File]:
    """Return the files of the last attempt that may answer a challenge.

    If no file defines the answer, a file with the name of the challenge counts: then its student
    reads that the class has another name. A file that Python cannot read counts if it is the only
    file.
    """
    defining = [file for file in files if file.content.defines.intersection(challenge.entry)]
    named = [file for file in files if file.has_name_of(challenge) and file.content.source]
    broken = [file for file in files if file.content.is_broken and len(files) == 1]
    fitting = defining or named or broken
    last = max((file.upload.lms.attempt for file in fitting), default="")
    return [file for file in fitting if file.upload.lms.attempt == last]


def _with_answer(
    submission: StudentSubmission, challenge: Challenge, candidates: Sequence[_File]
) -> StudentSubmission:
    """Return the submission with the best of the files, or the reason why none is the best."""
    best = max(file.fits(challenge) for file in candidates)
    answers = [file for file in candidates if file.fits(challenge) == best]
    # Two files or folders of one name have no order in time.
    places = {file.upload.place for file in candidates if not file.upload.lms.system}
    rivals = candidates if len(places) > 1 else answers
    if len({file.content.source for file in rivals}) > 1:
        paths = [file.path for file in rivals]
        trouble = (
            f"There are {len(paths)} answers to {challenge.id}: {first_of(paths)}."
            " Remove or rename all but one, then grade again with --resume."
        )
        return replace(submission, file=paths[0], trouble=trouble)
    answer, lms = answers[0], answers[0].upload.lms
    return replace(
        submission,
        file=answer.path,
        source=answer.content.source,
        alternatives=tuple(file.path for file in candidates if file is not answer),
        submitted=answer.file.modified if lms.system == "moodle" else lms.submitted,
        is_marked_late=lms.is_marked_late,
        has_late_marks=lms.system == "canvas",
    )


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
        f" {first_of([*guesses.values()])}. If a guess is wrong, give a --roster."
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
