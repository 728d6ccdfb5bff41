"""Choose the file to grade for each student and challenge, from all that a class handed in.

Lose nothing: every Python file is graded, is named in its student's trouble, or is ignored with a
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

from trainer.classroom.archives import INSTEAD, FileError
from trainer.classroom.lms_names import Named, Names, handed_in_at, is_receipt, read_names, spelt
from trainer.classroom.records import StudentSubmission
from trainer.classroom.uploads import (
    ANSWERS,
    LAYOUTS,
    File,
    Upload,
    class_uploads,
    single_upload,
    suffix,
    valid,
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
# How Canvas numbers a later upload of the same name: `gqa-2.py`.
_NUMBERED = re.compile(r"(.+)-([0-9]{1,18})(\.[^.]+)", re.DOTALL)


@dataclass(frozen=True)
class Collected:
    """The submissions in a folder or an archive.

    submissions   one for each student and challenge, by student
    ignored       the place of everything else, with the reason if it is not plain
    notes         sentences about names that could be read in another way
    """

    submissions: list[StudentSubmission]
    ignored: list[str]
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Student:
    """All that one student handed in.

    uploads   by place, each with the reading of its name if a system wrote the name
    """

    name: str
    uploads: Sequence[tuple[Upload, Named | None]]

    @property
    def place(self) -> str:
        return self.uploads[0][0].place


class _UnclearError(FileError):
    """No file can be chosen. `named` are the places of the files that the sentence names."""

    def __init__(self, text: str, files: Sequence[File]) -> None:
        super().__init__(text)
        self.named = {file.place for file in files[:_MOST_NAMED]}


def collect(where: Path, challenges: Sequence[Challenge]) -> Collected:
    """Return all that a class handed in for these challenges.

    Args:
        where: a folder or a zip.
        challenges: if there are several, each student has a folder with a file for each.

    Raises:
        DrillError: there is no such place or nothing in it, or an archive is broken as a whole.
    """
    with _valid_messages():
        ignored: list[str] = []
        with ExitStack() as stack:
            uploads = class_uploads(where, _expected(challenges), stack, ignored)
            names = _names(uploads, challenges)
            students = _students(uploads, names, ignored)
            submissions = _of_students(students, challenges, ignored)
        if not submissions:
            raise DrillError(f"{where} holds no submission. {LAYOUTS}")
        return Collected(submissions, sorted(map(valid, ignored)), _notes(names))


def collect_single(where: Path, challenges: Sequence[Challenge]) -> Collected:
    """Return all that one student handed in. The student is called like the place.

    If nothing can be graded, the submissions say why.

    Args:
        where: the student's folder, .zip or .py.
        challenges: the challenges that were asked for.

    Raises:
        DrillError: there is no such place.
    """
    with _valid_messages():
        ignored: list[str] = []
        upload = single_upload(where, ignored)
        reading = Named((), upload.student, file=upload.name)  # the name may be a challenge's
        student = _Student(upload.student, [(upload, reading)])
        submissions = _of_students([student], challenges, ignored)
        return Collected(submissions, sorted(map(valid, ignored)))


@contextmanager
def _valid_messages() -> Iterator[None]:
    try:
        yield
    except DrillError as error:
        raise DrillError(valid(str(error))) from None


def _expected(challenges: Sequence[Challenge]) -> set[str]:
    return {spelt(challenge.file_name) for challenge in challenges}


# Students


def _names(uploads: Sequence[Upload], challenges: Sequence[Challenge]) -> Names:
    """Read the names of all uploads, with Blackboard's receipts."""
    receipts: dict[str, str] = {}
    for upload in uploads:
        if is_receipt(upload.name) and not upload.is_folder:
            with suppress(FileError):
                receipts[upload.name] = upload.files[0].read()
    known = {
        spelt(text).replace(" ", "_")
        for challenge in challenges
        for text in (challenge.id, challenge.title, Path(challenge.file_name).stem)
    }
    named = [(upload.name, upload.is_folder) for upload in uploads]
    return read_names(named, known, receipts)


def _notes(names: Names) -> list[str]:
    """Say which part of Blackboard's names was read as the user, if that is a guess."""
    if not names.guessed:
        return []
    shown = [f"{valid(user)} from {valid(head)}" for head, user in sorted(names.guessed.items())]
    return [
        "Blackboard's file names do not say where the user name begins. "
        f"Read were {_listed(shown, _MOST_GUESSES)}. "
        "If that is wrong, put Blackboard's .txt receipts next to the files."
    ]


def _students(uploads: Sequence[Upload], names: Names, ignored: list[str]) -> list[_Student]:
    """Return the uploads of each student together. Ignore loose files that are no answers."""
    readings = [names.by_name.get((upload.name, upload.is_folder)) for upload in uploads]
    is_canvas = any(
        reading and not reading.certain and suffix(reading.file) in ANSWERS for reading in readings
    )
    owned: dict[tuple[str, ...], list[tuple[Upload, Named | None]]] = defaultdict(list)
    pairs = sorted(zip(uploads, readings, strict=True), key=lambda pair: pair[0].place)
    for upload, reading in pairs:
        is_named = reading is not None and (reading.certain or is_canvas)
        if upload.is_folder or is_named or suffix(upload.name) in ANSWERS:
            owner = reading.key if reading else (upload.place,)
            owned[owner].append((upload, reading))
        else:
            trouble = upload.files[0].trouble
            ignored.append(f"{upload.place} ({trouble})" if trouble else upload.place)
    called: list[tuple[str, str]] = []
    for (upload, reading), *_ in owned.values():
        called.append((valid(reading.student), reading.id) if reading else (upload.student, ""))
    names_and_uploads = zip(_distinct(called), owned.values(), strict=True)
    return [_Student(name, own) for name, own in names_and_uploads]


def _distinct(called: Sequence[tuple[str, str]]) -> list[str]:
    """Return a name for each student, given name and number.

    Add the number if it tells all students of one name apart. Change no other name.
    """
    numbers: dict[str, list[str]] = defaultdict(list)
    for name, number in called:
        numbers[_folded(name)].append(number)
    names: list[str] = []
    for name, number in called:
        same = numbers[_folded(name)]
        tells_apart = len(same) > 1 and all(same) and len(set(same)) == len(same)
        names.append(f"{name} ({number})" if tells_apart else name)
    return names


def _folded(name: str) -> str:
    """Return the common form of names that differ only in case, Unicode form or blanks."""
    folded = unicodedata.normalize("NFKC", name).casefold()
    return " ".join(unicodedata.normalize("NFKC", folded).split())


def _files(student: _Student, stack: ExitStack, ignored: list[str]) -> list[File]:
    """Return all files of a student, by place. Zips are unpacked until `stack` is closed."""
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
    """Return all submissions, by student. Students of one name are for a person to settle."""
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
        submission = StudentSubmission(student.name, challenge.id, valid(student.place), None)
        try:
            file = _choose(student, latest, challenge, challenges)
            named.add(file.place)
            submission = _read(file, submission)
        except _UnclearError as error:
            named |= error.named
            submission = replace(submission, trouble=valid(str(error)))
        submissions.append(submission)
    current = {file.place for file in latest}
    last_attempt = max((file.attempt for file in latest), default="")
    for file in files:
        if _may_be_meant(file) and file.place not in named:
            is_old = file.attempt < last_attempt or file.place not in current
            reason = file.trouble or ("an older upload" if is_old else "not asked for")
            ignored.append(f"{file.place} ({reason})")
    return submissions


def _read(file: File, submission: StudentSubmission) -> StudentSubmission:
    """Return the submission with the text of its file, or with the reason why there is none."""
    submission = replace(submission, file=valid(file.place), modified=file.modified)
    if file.times > 1:
        trouble = valid(f"{file.trouble.removesuffix(INSTEAD)}{_SETTLE}")
        return replace(submission, trouble=trouble, unsettled=(submission.file,) * file.times)
    try:
        return replace(submission, source=file.read())
    except FileError as error:
        return replace(submission, trouble=valid(str(error)))


def _unsettled(
    group: Sequence[_Student],
    files: Sequence[Sequence[File]],
    challenges: Sequence[Challenge],
    ignored: list[str],
) -> list[StudentSubmission]:
    """Return submissions without a source, which say that several came under one name."""
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
        shown = tuple(map(valid, places))
        submissions.append(
            StudentSubmission(name, challenge.id, shown[0], None, valid(trouble), unsettled=shown)
        )
    for own in files:
        for file in own:
            if _may_be_meant(file) and file.place not in named:
                ignored.append(f"{file.place} ({len(group)} submissions have the name {name})")
    return submissions


def _may_be_meant(file: File) -> bool:
    """Return whether the teacher is told of the file if it is not graded."""
    return file.suffix in ANSWERS or bool(file.trouble)


def _latest(files: Sequence[File], expected: set[str]) -> list[File]:
    """Return the files without those that a later upload of the same name replaces."""
    newest: dict[str, tuple[int, int]] = {}
    for file in files:
        name, number = _called(file, expected)
        newest[name] = max(newest.get(name, (0, 0)), (file.upload, number))
    latest: list[File] = []
    for file in files:
        name, number = _called(file, expected)
        if (file.upload, number) == newest[name]:
            latest.append(file)
    return latest


def _called(file: File, expected: set[str]) -> tuple[str, int]:
    """Return a file's name in one spelling, and the number that Canvas gave to a later upload."""
    name = file.parts[-1]
    numbered = _NUMBERED.fullmatch(name)
    if file.upload and numbered and spelt(name) not in expected:
        return spelt(numbered[1] + numbered[3]), int(numbered[2])
    return spelt(name), 0


def _choose(
    student: _Student, files: Sequence[File], challenge: Challenge, challenges: Sequence[Challenge]
) -> File:
    """Return the file to grade, from the last attempt that has one.

    Raises:
        _UnclearError: there is none, or it is not clear which file is meant.
    """
    upload, reading = student.uploads[0]
    if len(challenges) > 1 and upload.is_loose and reading is None:
        names = ", ".join(challenge.file_name for challenge in challenges)
        text = (
            f"{student.place} is one file, but {len(challenges)} challenges are asked. Hand in a"
            f" folder for each student, with {names} in it."
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
    """Return the candidate that is meant for a challenge, or None."""
    name = challenge.file_name
    expected = _expected(challenges)
    same = [file for file in candidates if file.parts[-1] == name]
    if not same:
        same = [file for file in candidates if _called(file, expected)[0] == spelt(name)]
    if len(same) == 1:
        return same[0]
    if same:
        text = (
            f"{student} handed in {len(same)} files for {name}: {_file_names(same)}. Hand in one."
        )
        raise _UnclearError(text, same)
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
    there = f", only {_file_names(files)}" if files else " or any other file"
    text = f"{student} did not hand in {missing}{there}. Hand in {name}."
    return " ".join((text, *refused[:1]))


def _file_names(files: Sequence[File]) -> str:
    return _listed([file.name for file in files])


def _listed(names: Sequence[str], most: int = _MOST_NAMED) -> str:
    more = f" and {len(names) - most} more" if len(names) > most else ""
    return ", ".join(names[:most]) + more
