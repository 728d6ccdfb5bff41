"""Choose the file to grade for each student and challenge, from all files of a class.

Lose nothing: every Python file is graded, named in a message for its student, or ignored with a
reason.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Collection, Iterator, Sequence, Set
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path

from trainer.classroom.archives import HAND_IN_FILE, NOTEBOOK, PYTHON, FileError
from trainer.classroom.lms_names import LmsName, handed_in_at, is_receipt, normalised_name
from trainer.classroom.needed_statements import defined_names
from trainer.classroom.notebook_cells import MOST_CODE_BYTES
from trainer.classroom.records import Student, StudentSubmission
from trainer.classroom.roster import Roster
from trainer.classroom.uploaders import (
    Uploader,
    guessed_users,
    lms_names,
    missing_students,
    same_name,
    uploaders,
    with_distinct_names,
    with_roster,
)
from trainer.classroom.uploads import (
    ANSWER_SUFFIXES,
    LAYOUTS,
    File,
    class_uploads,
    single_upload,
    valid_text,
    with_zip_unpacked,
)
from trainer.model.challenge import Challenge
from trainer.model.errors import DrillError
from trainer.model.listing import first_of

_MOST_NAMED = 10  # files in one sentence
_MOST_READ = 10  # files of one student in which the answer is looked for
_MOST_OTHERS = 3  # other files of one student
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
        students: all students, sorted by name; with a roster, also those who handed in nothing.
        submissions: one for each student with files and each challenge, sorted by student.
        ignored: the path of every other file, with the reason if it is not obvious.
        notes: sentences about names that have more than one possible reading.
    """

    students: list[Student]
    submissions: list[StudentSubmission]
    ignored: list[str]
    notes: list[str] = field(default_factory=list)


class _UnclearError(FileError):
    """Raised if no file can be chosen.

    Attributes:
        named: the paths of the files that the sentence names.
    """

    def __init__(self, text: str, files: Sequence[File]) -> None:
        super().__init__(text)
        self.named = {file.place for file in files[:_MOST_NAMED]}


class _MissingError(_UnclearError):
    """Raised if no file is for the challenge."""


def collect(
    folder_or_zip: Path, challenges: Sequence[Challenge], roster: Roster | None = None
) -> Collected:
    """Return the submissions of a class for these challenges.

    Args:
        folder_or_zip: a folder or a zip.
        challenges: the challenges of the assignment. If there are several, each student has a
            folder with one file for each challenge.
        roster: the students of the class, or None if they are not known.

    Raises:
        DrillError: the folder or zip does not exist, holds no submission, or is broken as a whole.
    """
    with _valid_messages():
        ignored: list[str] = []
        with ExitStack() as stack:
            uploads = class_uploads(folder_or_zip, _expected(challenges), stack, ignored)
            names = lms_names(uploads, challenges)
            found = uploaders(uploads, names, ignored)
            missing: list[Student] = []
            if roster is not None:
                missing = missing_students(found, roster)
                found = with_roster(found, roster)
            found = with_distinct_names(found)
            submissions = _of_uploaders(found, challenges, ignored)
        if not submissions:
            raise DrillError(f"{folder_or_zip} holds no submission. {LAYOUTS}")
        students = _students(found) + missing
        return Collected(
            sorted(students, key=lambda student: same_name(student.name)),
            submissions,
            sorted(map(valid_text, ignored)),
            guessed_users(names),
        )


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
        student = Student(upload.student, upload=valid_text(upload.name))
        submissions = _of_uploaders([Uploader(student, [(upload, reading)])], challenges, ignored)
        return Collected([student], submissions, sorted(map(valid_text, ignored)))


@contextmanager
def _valid_messages() -> Iterator[None]:
    try:
        yield
    except DrillError as error:
        raise DrillError(valid_text(str(error))) from None


def _expected(challenges: Sequence[Challenge]) -> set[str]:
    return {normalised_name(name) for challenge in challenges for name in _names_of(challenge)}


def _names_of(challenge: Challenge) -> tuple[str, str]:
    """Return the file names that may answer a challenge: a Python file and a notebook."""
    return challenge.file_name, Path(challenge.file_name).stem + NOTEBOOK


def _students(found: Sequence[Uploader]) -> list[Student]:
    """Return each student once, also if several uploads have the student's name."""
    by_name: dict[str, list[Student]] = defaultdict(list)
    for uploader in found:
        by_name[same_name(uploader.name)].append(uploader.student)
    return [
        # If several uploads have this name, only the data of the roster is certain.
        group[0] if len(group) == 1 else replace(group[0], system="", system_id="", upload="")
        for group in by_name.values()
    ]


def _files(uploader: Uploader, stack: ExitStack, ignored: list[str]) -> list[File]:
    """Return all files of a student, sorted by path. Unpack zips until `stack` is closed."""
    files: list[File] = []
    for upload, reading in uploader.uploads:
        for file in with_zip_unpacked(upload.files, stack, ignored):
            if reading:
                is_moodle = reading.system == "moodle"
                file = replace(
                    file,
                    parts=(reading.file,) if upload.is_loose else file.parts,
                    attempt=reading.attempt,
                    upload=reading.upload,
                    submitted=file.archived_at if is_moodle else handed_in_at(reading.attempt),
                    is_marked_late=reading.is_marked_late,
                    has_late_marks=reading.system == "canvas",
                )
            files.append(file)
    return sorted(files, key=lambda file: file.place)


# Submissions


def _of_uploaders(
    found: Sequence[Uploader], challenges: Sequence[Challenge], ignored: list[str]
) -> list[StudentSubmission]:
    """Return all submissions, sorted by student.

    If several students have the same name, a person must settle which of them counts.
    """
    groups: dict[str, list[Uploader]] = defaultdict(list)
    for uploader in found:
        groups[same_name(uploader.name)].append(uploader)
    submissions: list[StudentSubmission] = []
    for _, group in sorted(groups.items()):
        with ExitStack() as stack:
            files = [_files(uploader, stack, ignored) for uploader in group]
            if len(group) == 1:
                submissions += _submissions(group[0], files[0], challenges, ignored)
            else:
                submissions += _unsettled(group, files, challenges, ignored)
    return submissions


def _submissions(
    uploader: Uploader, files: Sequence[File], challenges: Sequence[Challenge], ignored: list[str]
) -> list[StudentSubmission]:
    """Return a student's submission for each challenge. Add other files to `ignored`."""
    latest = _latest(files, _expected(challenges))
    submissions: list[StudentSubmission] = []
    named: set[str] = set()
    for challenge in challenges:
        submission = StudentSubmission(
            uploader.name, challenge.id, valid_text(uploader.place), None
        )
        try:
            file = _choose(uploader, latest, challenge, challenges)
            named.add(file.place)
            submission = _read(file, submission, challenge)
        except _UnclearError as error:
            named |= error.named
            is_missing = isinstance(error, _MissingError)
            submission = replace(submission, trouble=valid_text(str(error)), is_missing=is_missing)
        submissions.append(submission)
    submissions = _with_alternatives(submissions, latest, named, challenges)
    current = {file.place for file in latest}
    last_attempt = max((file.attempt for file in latest), default="")
    for file in files:
        if _may_be_meant(file) and file.place not in named:
            is_old = file.attempt < last_attempt or file.place not in current
            reason = file.trouble or ("an older upload" if is_old else "not requested")
            ignored.append(f"{file.place} ({reason})")
    others = [
        file.place
        for file in files
        if not _may_be_meant(file)
        and file.place not in named
        and not is_receipt(file.place.rpartition("/")[2])
    ]
    if others:
        kind = "not a Python file" if len(others) == 1 else "not Python files"
        ignored.append(f"{first_of(others, _MOST_OTHERS)} ({kind})")
    return submissions


def _with_alternatives(
    submissions: Sequence[StudentSubmission],
    latest: Sequence[File],
    named: Set[str],
    challenges: Sequence[Challenge],
) -> list[StudentSubmission]:
    """Return a student's submissions with the other files that define their answers, too.

    Args:
        submissions: one for each challenge.
        latest: the newest files of the student.
        named: the paths of files that are graded or that a message names.
        challenges: the challenges of the assignment.
    """
    last_attempt = max((file.attempt for file in latest), default="")
    others = [
        file
        for file in latest
        if file.suffix in (PYTHON, NOTEBOOK)
        and file.attempt == last_attempt
        and file.place not in named
        and not file.trouble
    ][:_MOST_READ]
    return [
        replace(
            submission,
            alternatives=tuple(
                valid_text(file.place) for file in others if _defines(file, challenge.entry)
            ),
        )
        for submission, challenge in zip(submissions, challenges, strict=True)
    ]


def _read(file: File, submission: StudentSubmission, challenge: Challenge) -> StudentSubmission:
    """Return the submission with the text of its file, or with the reason why it is missing."""
    submission = replace(
        submission,
        file=valid_text(file.place),
        submitted=file.submitted,
        is_marked_late=file.is_marked_late,
        has_late_marks=file.has_late_marks,
    )
    if file.times > 1:
        trouble = valid_text(f"{file.trouble.removesuffix(HAND_IN_FILE)}{_SETTLE}")
        return replace(submission, trouble=trouble)
    try:
        return replace(submission, source=file.read(challenge.entry))
    except FileError as error:
        return replace(submission, trouble=valid_text(str(error)))


def _unsettled(
    group: Sequence[Uploader],
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
        for uploader, own in zip(group, files, strict=True):
            try:
                latest = _latest(own, _expected(challenges))
                places.append(_choose(uploader, latest, challenge, challenges).place)
            except _UnclearError:
                places.append(uploader.place)
        named.update(places[:_MOST_NAMED])
        explained = f" {_ALIKE}" if len({uploader.name for uploader in group}) > 1 else ""
        trouble = (
            f"{len(places)} submissions have the name {name}: {first_of(places, _MOST_NAMED)}."
            f"{explained} {_SETTLE}"
        )
        submissions.append(
            StudentSubmission(name, challenge.id, valid_text(places[0]), None, valid_text(trouble))
        )
    for own in files:
        for file in own:
            if _may_be_meant(file) and file.place not in named:
                ignored.append(f"{file.place} ({len(group)} submissions have the name {name})")
    return submissions


def _may_be_meant(file: File) -> bool:
    """Return whether the file may be the answer. If it is not graded, the report names it."""
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
    uploader: Uploader, files: Sequence[File], challenge: Challenge, challenges: Sequence[Challenge]
) -> File:
    """Return the file to grade, from the last attempt that has a suitable file.

    Raises:
        _UnclearError: no file is suitable, or several files are.
    """
    upload, reading = uploader.uploads[0]
    if len(challenges) > 1 and upload.is_loose and reading is None:
        names = ", ".join(challenge.file_name for challenge in challenges)
        text = (
            f"{uploader.place} is one file, but the assignment has {len(challenges)} challenges."
            f" Hand in a folder for each student, with {names} in it."
        )
        raise _UnclearError(files[0].trouble or text, files)
    for attempt in sorted({file.attempt for file in files}, reverse=True):
        answers = [
            file for file in files if file.attempt == attempt and file.suffix in (PYTHON, NOTEBOOK)
        ]
        file = _called_like(answers, challenge, challenges)
        if file is None and len(challenges) == 1:
            file = _only_answer(answers, challenge)
        if file is not None:
            return file
    kind = _UnclearError if any(file.trouble for file in files) else _MissingError
    raise kind(_nothing_found(files, challenge, challenges), files)


def _preferred(candidates: Sequence[File]) -> Iterator[list[File]]:
    """Yield groups of files, the preferred group first.

    A Python file counts more than a notebook, and a file at the top level more than one in a
    folder.
    """
    for ending in (PYTHON, NOTEBOOK):
        with_ending = [file for file in candidates if file.suffix == ending]
        yield [file for file in with_ending if len(file.parts) == 1]
        yield with_ending


def _called_like(
    answers: Sequence[File], challenge: Challenge, challenges: Sequence[Challenge]
) -> File | None:
    """Return the file that has the name of the challenge, or None.

    Raises:
        _UnclearError: several files have it.
    """
    names, expected = _names_of(challenge), _expected(challenges)
    normalised = {normalised_name(name) for name in names}
    for candidates in _preferred(answers):
        matching = [file for file in candidates if file.parts[-1] in names] or [
            file for file in candidates if _called(file, expected)[0] in normalised
        ]
        if len(matching) == 1:
            return matching[0]
        if matching:
            raise _UnclearError(
                f"There are {len(matching)} files for {challenge.file_name}:"
                f" {_file_names(matching)}. Hand in only one.",
                matching,
            )
    return None


def _only_answer(answers: Sequence[File], challenge: Challenge) -> File | None:
    """Return the file that answers the only challenge under another name, or None.

    Raises:
        _UnclearError: several files may answer it.
    """
    if 1 < len(answers) <= _MOST_READ:  # a file with helpers may lie next to the answer
        answers = [file for file in answers if _defines(file, challenge.entry)] or answers
    for candidates in _preferred(answers):
        if len(candidates) == 1:
            return candidates[0]
        if candidates:
            kind = "Python files" if candidates[0].suffix == PYTHON else "notebooks"
            name = challenge.file_name
            raise _UnclearError(
                f"There are {len(candidates)} {kind} and none is called {name}:"
                f" {_file_names(candidates)}. Hand in {name}.",
                candidates,
            )
    return None


def _defines(file: File, entry: Collection[str]) -> bool:
    """Return whether a file defines one of the names."""
    try:
        source = file.read(entry)
    except FileError:
        return False
    is_short = len(source) <= MOST_CODE_BYTES
    return is_short and not defined_names(source).isdisjoint(entry)


def _nothing_found(
    files: Sequence[File], challenge: Challenge, challenges: Sequence[Challenge]
) -> str:
    """Return the sentence for a student without a file for this challenge."""
    name = challenge.file_name
    refused = [file.trouble for file in files if file.trouble]
    is_all_refused = len(refused) == len(files) > 0
    if is_all_refused and len(challenges) == 1:
        return refused[0]
    if is_all_refused:
        return f"There is no {name}: {refused[0]}"
    missing = "Python file and no notebook" if len(challenges) == 1 else name
    others = f", only {_file_names(files)}" if files else ""
    text = f"There is no {missing}{others}. Hand in {name}."
    return " ".join((text, *refused[:1]))


def _file_names(files: Sequence[File]) -> str:
    return first_of([file.name for file in files], _MOST_NAMED)
