"""Choose the file to grade for each student and challenge, from all files of a class.

Lose nothing: every Python file is graded, named in a message for its student, or ignored with a
reason.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path

from trainer.classroom.archives import HAND_IN_FILE, FileError
from trainer.classroom.lms_names import (
    LmsName,
    LmsNames,
    handed_in_at,
    is_receipt,
    normalised_name,
    read_names,
)
from trainer.classroom.records import StudentSubmission
from trainer.classroom.uploads import (
    ANSWER_SUFFIXES,
    LAYOUTS,
    File,
    Upload,
    class_uploads,
    single_upload,
    suffix,
    valid_text,
    with_zip_unpacked,
)
from trainer.model.challenge import Challenge
from trainer.model.errors import DrillError

_MOST_NAMED = 10  # files in one sentence
_MOST_GUESSES = 3  # user names in one sentence
_SETTLE = (
    "None of them is graded. Remove or rename all but one, then run grade again with --resume."
)
_ALIKE = "Names that differ only in capitals, blanks or the encoding of an accent are one name."
# Canvas numbers a later upload of the same file name: `gqa-2.py`.
_NUMBERED = re.compile(r"(.+)-([0-9]{1,18})(\.[^.]+)", re.DOTALL)


@dataclass(frozen=True)
class Collected:
    """The submissions in a folder or an archive.

    Attributes:
        submissions: one for each student and challenge, sorted by student.
        ignored: the path of every other file, with the reason if it is not obvious.
        notes: sentences about names that have more than one possible reading.
    """

    submissions: list[StudentSubmission]
    ignored: list[str]
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Student:
    """All uploads of one student.

    Attributes:
        name: the name of the student.
        uploads: sorted by path, each with the parsed name if a learning management system wrote
            the name.
    """

    name: str
    uploads: Sequence[tuple[Upload, LmsName | None]]

    @property
    def place(self) -> str:
        return self.uploads[0][0].place


class _UnclearError(FileError):
    """Raised if no file can be chosen.

    Attributes:
        named: the paths of the files that the sentence names.
    """

    def __init__(self, text: str, files: Sequence[File]) -> None:
        super().__init__(text)
        self.named = {file.place for file in files[:_MOST_NAMED]}


def collect(folder_or_zip: Path, challenges: Sequence[Challenge]) -> Collected:
    """Return the submissions of a class for these challenges.

    Args:
        folder_or_zip: a folder or a zip.
        challenges: the challenges of the assignment. If there are several, each student has a
            folder with one file for each challenge.

    Raises:
        DrillError: the folder or zip does not exist, holds no submission, or is broken as a whole.
    """
    with _valid_messages():
        ignored: list[str] = []
        with ExitStack() as stack:
            uploads = class_uploads(folder_or_zip, _expected(challenges), stack, ignored)
            names = _names(uploads, challenges)
            students = _students(uploads, names, ignored)
            submissions = _of_students(students, challenges, ignored)
        if not submissions:
            raise DrillError(f"{folder_or_zip} holds no submission. {LAYOUTS}")
        return Collected(submissions, sorted(map(valid_text, ignored)), _notes(names))


def collect_single(path: Path, challenges: Sequence[Challenge]) -> Collected:
    """Return the submissions of one student. The name of the student is the name of the path.

    If nothing can be graded, the submissions give the reason.

    Args:
        path: the student's folder, .zip or .py.
        challenges: the challenges of the assignment.

    Raises:
        DrillError: the path does not exist.
    """
    with _valid_messages():
        ignored: list[str] = []
        upload = single_upload(path, ignored)
        # The file of a single student may have the file name of a challenge.
        reading = LmsName((), upload.student, file=upload.name)
        student = _Student(upload.student, [(upload, reading)])
        submissions = _of_students([student], challenges, ignored)
        return Collected(submissions, sorted(map(valid_text, ignored)))


@contextmanager
def _valid_messages() -> Iterator[None]:
    try:
        yield
    except DrillError as error:
        raise DrillError(valid_text(str(error))) from None


def _expected(challenges: Sequence[Challenge]) -> set[str]:
    return {normalised_name(challenge.file_name) for challenge in challenges}


# Students


def _names(uploads: Sequence[Upload], challenges: Sequence[Challenge]) -> LmsNames:
    """Parse the names of all uploads, with the help of Blackboard's receipts."""
    receipts: dict[str, str] = {}
    for upload in uploads:
        if is_receipt(upload.name) and not upload.is_folder:
            with suppress(FileError):
                receipts[upload.name] = upload.files[0].read()
    known = {
        normalised_name(text).replace(" ", "_")
        for challenge in challenges
        for text in (challenge.id, challenge.title, Path(challenge.file_name).stem)
    }
    names = [(upload.name, upload.is_folder) for upload in uploads]
    return read_names(names, known, receipts)


def _notes(names: LmsNames) -> list[str]:
    """Return a sentence that lists the guessed users in Blackboard's names, if there are any."""
    if not names.guessed:
        return []
    shown = [
        f"{valid_text(user)} from {valid_text(head)}"
        for head, user in sorted(names.guessed.items())
    ]
    return [
        "Blackboard's file names do not show where the user name begins. "
        f"Guessed: {_listed(shown, _MOST_GUESSES)}. "
        "If a guess is wrong, put Blackboard's .txt receipts next to the files."
    ]


def _students(uploads: Sequence[Upload], names: LmsNames, ignored: list[str]) -> list[_Student]:
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
    called: list[tuple[str, str]] = []
    for (upload, reading), *_ in owned.values():
        called.append(
            (valid_text(reading.student), reading.id) if reading else (upload.student, "")
        )
    names_and_uploads = zip(_distinct(called), owned.values(), strict=True)
    return [_Student(name, own) for name, own in names_and_uploads]


def _distinct(called: Sequence[tuple[str, str]]) -> list[str]:
    """Return a name for each student.

    Add the student id if it distinguishes all students of the same name. Change no other name.

    Args:
        called: the name and the id of each student. The id is "" if unknown.
    """
    ids_by_name: dict[str, list[str]] = defaultdict(list)
    for name, student_id in called:
        ids_by_name[_folded(name)].append(student_id)
    names: list[str] = []
    for name, student_id in called:
        ids = ids_by_name[_folded(name)]
        is_distinct = len(ids) > 1 and all(ids) and len(set(ids)) == len(ids)
        names.append(f"{name} ({student_id})" if is_distinct else name)
    return names


def _folded(name: str) -> str:
    """Return the common form of names that differ only in case, Unicode form or spaces."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded).split())


def _files(student: _Student, stack: ExitStack, ignored: list[str]) -> list[File]:
    """Return all files of a student, sorted by path. Unpack zips until `stack` is closed."""
    files: list[File] = []
    for upload, reading in student.uploads:
        for file in with_zip_unpacked(upload.files, stack, ignored):
            if reading:
                file = replace(
                    file,
                    parts=(reading.file,) if upload.is_loose else file.parts,
                    attempt=reading.attempt,
                    upload=reading.upload,
                    modified=handed_in_at(reading.attempt) or file.modified,
                )
            files.append(file)
    return sorted(files, key=lambda file: file.place)


# Submissions


def _of_students(
    students: Sequence[_Student], challenges: Sequence[Challenge], ignored: list[str]
) -> list[StudentSubmission]:
    """Return all submissions, sorted by student.

    If several students have the same name, a person must settle which of them counts.
    """
    groups: dict[str, list[_Student]] = defaultdict(list)
    for student in students:
        groups[_folded(student.name)].append(student)
    submissions: list[StudentSubmission] = []
    for _, group in sorted(groups.items()):
        with ExitStack() as stack:
            files = [_files(student, stack, ignored) for student in group]
            if len(group) == 1:
                submissions += _submissions(group[0], files[0], challenges, ignored)
            else:
                submissions += _unsettled(group, files, challenges, ignored)
    return submissions


def _submissions(
    student: _Student, files: Sequence[File], challenges: Sequence[Challenge], ignored: list[str]
) -> list[StudentSubmission]:
    """Return a student's submission for each challenge. Add other files to `ignored`."""
    latest = _latest(files, _expected(challenges))
    submissions: list[StudentSubmission] = []
    named: set[str] = set()
    for challenge in challenges:
        submission = StudentSubmission(student.name, challenge.id, valid_text(student.place), None)
        try:
            file = _choose(student, latest, challenge, challenges)
            named.add(file.place)
            submission = _read(file, submission)
        except _UnclearError as error:
            named |= error.named
            submission = replace(submission, trouble=valid_text(str(error)))
        submissions.append(submission)
    current = {file.place for file in latest}
    last_attempt = max((file.attempt for file in latest), default="")
    for file in files:
        if _may_be_meant(file) and file.place not in named:
            is_old = file.attempt < last_attempt or file.place not in current
            reason = file.trouble or ("an older upload" if is_old else "not requested")
            ignored.append(f"{file.place} ({reason})")
    return submissions


def _read(file: File, submission: StudentSubmission) -> StudentSubmission:
    """Return the submission with the text of its file, or with the reason why it is missing."""
    submission = replace(submission, file=valid_text(file.place), modified=file.modified)
    if file.times > 1:
        trouble = valid_text(f"{file.trouble.removesuffix(HAND_IN_FILE)}{_SETTLE}")
        return replace(submission, trouble=trouble, unsettled=(submission.file,) * file.times)
    try:
        return replace(submission, source=file.read())
    except FileError as error:
        return replace(submission, trouble=valid_text(str(error)))


def _unsettled(
    group: Sequence[_Student],
    files: Sequence[Sequence[File]],
    challenges: Sequence[Challenge],
    ignored: list[str],
) -> list[StudentSubmission]:
    """Return submissions without a source, with a message that several have the same name."""
    name = group[0].name
    submissions: list[StudentSubmission] = []
    named: set[str] = set()
    for challenge in challenges:
        places: list[str] = []
        for student, own in zip(group, files, strict=True):
            try:
                latest = _latest(own, _expected(challenges))
                places.append(_choose(student, latest, challenge, challenges).place)
            except _UnclearError:
                places.append(student.place)
        named.update(places[:_MOST_NAMED])
        explained = f" {_ALIKE}" if len({student.name for student in group}) > 1 else ""
        trouble = (
            f"{len(places)} submissions have the name {name}: {_listed(places)}.{explained}"
            f" {_SETTLE}"
        )
        shown = tuple(map(valid_text, places))
        submissions.append(
            StudentSubmission(
                name, challenge.id, shown[0], None, valid_text(trouble), unsettled=shown
            )
        )
    for own in files:
        for file in own:
            if _may_be_meant(file) and file.place not in named:
                ignored.append(f"{file.place} ({len(group)} submissions have the name {name})")
    return submissions


def _may_be_meant(file: File) -> bool:
    """Return whether a message to the teacher names the file if it is not graded."""
    return file.suffix in ANSWER_SUFFIXES or bool(file.trouble)


def _latest(files: Sequence[File], expected: set[str]) -> list[File]:
    """Return the newest file of each name. A later upload replaces a file of the same name."""
    newest: dict[str, tuple[int, int]] = {}
    for file in files:
        name, copy = _called(file, expected)
        newest[name] = max(newest.get(name, (0, 0)), (file.upload, copy))
    latest: list[File] = []
    for file in files:
        name, copy = _called(file, expected)
        if (file.upload, copy) == newest[name]:
            latest.append(file)
    return latest


def _called(file: File, expected: set[str]) -> tuple[str, int]:
    """Return the normalised name of a file, and the number that Canvas added to it, or 0."""
    name = file.parts[-1]
    numbered = _NUMBERED.fullmatch(name)
    if file.upload and numbered and normalised_name(name) not in expected:
        return normalised_name(numbered[1] + numbered[3]), int(numbered[2])
    return normalised_name(name), 0


def _choose(
    student: _Student, files: Sequence[File], challenge: Challenge, challenges: Sequence[Challenge]
) -> File:
    """Return the file to grade, from the last attempt that has a suitable file.

    Raises:
        _UnclearError: no file is suitable, or several files are.
    """
    upload, reading = student.uploads[0]
    if len(challenges) > 1 and upload.is_loose and reading is None:
        names = ", ".join(challenge.file_name for challenge in challenges)
        text = (
            f"{student.place} is one file, but the assignment has {len(challenges)} challenges."
            f" Hand in a folder for each student, with {names} in it."
        )
        raise _UnclearError(files[0].trouble or text, files)
    for attempt in sorted({file.attempt for file in files}, reverse=True):
        python = [file for file in files if file.attempt == attempt and file.suffix == ".py"]
        at_top = [file for file in python if len(file.parts) == 1]
        for candidates in (at_top, python):
            file = _match(student.name, candidates, challenge, challenges)
            if file:
                return file
    raise _UnclearError(_nothing_found(student.name, files, challenge, challenges), files)


def _match(
    student: str, candidates: Sequence[File], challenge: Challenge, challenges: Sequence[Challenge]
) -> File | None:
    """Return the file that answers a challenge, or None.

    Raises:
        _UnclearError: several candidates may answer the challenge.
    """
    name = challenge.file_name
    expected = _expected(challenges)
    matching = [file for file in candidates if file.parts[-1] == name]
    if not matching:
        matching = [
            file for file in candidates if _called(file, expected)[0] == normalised_name(name)
        ]
    if len(matching) == 1:
        return matching[0]
    if matching:
        text = (
            f"{student} handed in {len(matching)} files for {name}: {_file_names(matching)}."
            " Hand in only one."
        )
        raise _UnclearError(text, matching)
    if not candidates or len(challenges) > 1:
        return None
    if len(candidates) == 1:
        return candidates[0]
    text = (
        f"{student} handed in {len(candidates)} Python files and none is called {name}:"
        f" {_file_names(candidates)}. Hand in {name}."
    )
    raise _UnclearError(text, candidates)


def _nothing_found(
    student: str, files: Sequence[File], challenge: Challenge, challenges: Sequence[Challenge]
) -> str:
    """Return the sentence for a student without a file for this challenge."""
    name = challenge.file_name
    refused = [file.trouble for file in files if file.trouble]
    is_all_refused = len(refused) == len(files) > 0
    if is_all_refused and len(challenges) == 1:
        return refused[0]
    if is_all_refused:
        return f"{student} did not hand in {name}: {refused[0]}"
    missing = "a Python file" if len(challenges) == 1 else name
    others = f", only {_file_names(files)}" if files else " or any other file"
    text = f"{student} did not hand in {missing}{others}. Hand in {name}."
    return " ".join((text, *refused[:1]))


def _file_names(files: Sequence[File]) -> str:
    return _listed([file.name for file in files])


def _listed(names: Sequence[str], most: int = _MOST_NAMED) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
