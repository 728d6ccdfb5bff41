"""Choose what a class handed in for each challenge, from a folder or the zip of a learning management system.

Nothing is lost on the way: a Python file is graded, or the trouble of its student names it, or it is among what was ignored.
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path

from trainer.classroom.archives import INSTEAD, Archive, FileError
from trainer.classroom.found import File, Item, in_archive, in_folder, of_one_student, valid
from trainer.classroom.systems import Named, Names, handed_in_at, is_receipt, read_names, spelt
from trainer.classroom.words import Submission
from trainer.core.words import Challenge, DrillError

LAYOUTS = "Name a folder with DIR/<student>.py or DIR/<student>/<any>.py, or the .zip of a learning management system."

_MOST_NAMED = 10  # files in one sentence
_MOST_GUESSES = 3  # user names in one sentence
_SETTLE = (
    "None of them is graded. Remove or rename all but one, then run grade again with --resume."
)
_ALIKE = "Names that differ only in capitals, blanks or the encoding of an accent are one name."
_AGAIN = re.compile(
    r"(.+)-([0-9]{1,18})(\.[^.]+)", re.DOTALL
)  # how Canvas numbers the uploads of one name


@dataclass(frozen=True)
class Collected:
    """What a folder or an archive holds.

    submissions   one for each student and challenge, by student
    ignored       the place of everything else, with the reason where it is not plain
    notes         sentences about names that could be read in another way
    """

    submissions: list[Submission]
    ignored: list[str]
    notes: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Student:
    """All that one student handed in.

    alone   it is a file without a folder, whose name says nothing but the student's
    stray   its path leads out of the archive
    """

    name: str
    place: str
    files: tuple[File, ...]
    alone: bool
    stray: bool


def collect(where: Path, challenges: Sequence[Challenge]) -> Collected:
    """All that a class handed in for these challenges.

    Args:
        where: a folder or a zip.
        challenges: what was asked; where it is more than one, a student has a folder with a file for each.

    Raises:
        DrillError: where there is no such place or nothing in it, or an archive is no good as a whole.
    """
    try:
        is_folder = stat.S_ISDIR(os.stat(where).st_mode)
    except OSError as error:
        raise DrillError(
            valid(f"{where} cannot be read: {error.strerror or error}. {LAYOUTS}")
        ) from None
    if not is_folder and where.suffix.lower() != ".zip":
        raise DrillError(valid(f"{where} is neither a folder nor a .zip. {LAYOUTS}"))
    with ExitStack() as stack:
        try:
            if is_folder:
                items, ignored = in_folder(where)
            else:
                items, ignored = in_archive(
                    stack.enter_context(Archive(where, where.name)),
                    [challenge.file_name for challenge in challenges],
                )
            found = _collected(items, ignored, challenges)
        except DrillError as error:
            raise DrillError(valid(str(error))) from None
    if not found.submissions:
        raise DrillError(valid(f"{where} holds no submission. {LAYOUTS}"))
    return found


def collect_single(where: Path, challenges: Sequence[Challenge]) -> Collected:
    """All that one student handed in, who is called like the place; where nothing can be graded, the submissions say why.

    Args:
        where: the student's folder, .zip or .py.
        challenges: what was asked.

    Raises:
        DrillError: where there is no such place.
    """
    ignored: list[str] = []
    try:
        return _collected([of_one_student(where, ignored)], ignored, challenges)
    except DrillError as error:
        raise DrillError(valid(str(error))) from None


def _collected(
    items: Iterable[Item], ignored: list[str], challenges: Sequence[Challenge]
) -> Collected:
    items = list(items)
    names = _names(items, challenges)
    found: list[Submission] = []
    for group in _by_name(_students(items, names, ignored), ignored):
        if len(group) == 1:
            found += _submissions(group[0], challenges, ignored)
        else:
            found += _unsettled(group, challenges, ignored)
    found.sort(key=lambda made: (_folded(made.student), made.student))
    return Collected(found, sorted(map(valid, ignored)), _notes(names))


def _names(items: Sequence[Item], challenges: Sequence[Challenge]) -> Names:
    """Read the names of all items; an item of a kind whose name follows no rules has none."""
    receipts: dict[str, str] = {}
    for item in items:
        if item.kind == "file" and is_receipt(item.name):
            with suppress(FileError):
                receipts[item.name] = item.files[0].read()
    known = {
        spelt(text).replace(" ", "_")
        for each in challenges
        for text in (each.id, each.title, Path(each.file_name).stem)
    }
    named = [
        (item.name, item.kind == "folder") for item in items if item.kind not in ("stray", "single")
    ]
    return read_names(named, known, receipts)


def _notes(names: Names) -> list[str]:
    """Say which part of Blackboard's names was read as the user, if that is a guess."""
    if not names.guessed:
        return []
    shown = [f"{valid(user)} from {valid(head)}" for head, user in sorted(names.guessed.items())]
    more = f" and {len(shown) - _MOST_GUESSES} more" if len(shown) > _MOST_GUESSES else ""
    return [
        "Blackboard's file names do not say where the user name begins. "
        f"Read were {', '.join(shown[:_MOST_GUESSES])}{more}. "
        "If that is wrong, put Blackboard's .txt receipts next to the files."
    ]


def _students(items: Iterable[Item], names: Names, ignored: list[str]) -> list[_Student]:
    """Return the items of each student together."""
    owned: dict[tuple[str, ...], list[Item]] = {}
    called: dict[tuple[str, ...], tuple[str, str]] = {}
    items = sorted(items, key=lambda item: (item.kind == "stray", item.place))
    told = {
        item.place: None
        if item.kind in ("stray", "single")
        else names.by_name.get((item.name, item.kind == "folder"))
        for item in items
    }
    is_canvas = any(
        (name := told[item.place])
        and not name.certain
        and item.name.lower().endswith((".py", ".zip"))
        for item in items
    )
    for item in items:
        name = told[item.place]
        if (
            item.kind == "file"
            and not item.name.lower().endswith((".py", ".zip"))
            and not (name and (name.certain or is_canvas))
        ):
            ignored.append(item.place)
            continue
        key = name.key if name else (item.kind, item.place)
        called[key] = (valid(name.student), name.id) if name else (valid(item.student), "")
        owned.setdefault(key, []).append(
            replace(
                item, files=tuple(_as_named(file, name, item.kind == "file") for file in item.files)
            )
            if name
            else item
        )
    return [
        _Student(
            name,
            owned[key][0].place,
            tuple(
                sorted(
                    (file for item in owned[key] for file in item.files),
                    key=lambda file: file.place,
                )
            ),
            key[0] in ("file", "stray"),
            key[0] == "stray",
        )
        for key, name in zip(owned, _with_numbers([called[key] for key in owned]), strict=True)
    ]


def _as_named(file: File, name: Named, alone: bool) -> File:
    parts = (name.file,) if alone else file.parts
    return replace(
        file,
        parts=parts,
        attempt=name.attempt,
        upload=name.upload,
        modified=handed_in_at(name.attempt) or file.modified,
    )


def _with_numbers(names: Sequence[tuple[str, str]]) -> list[str]:
    """Return a name for each student, given name and number.

    The number is added where it tells all students of one name apart. No other name is changed.
    """
    numbers: dict[str, list[str]] = defaultdict(list)
    for name, number in names:
        numbers[_folded(name)].append(number)
    apart = {
        name
        for name, found in numbers.items()
        if len(found) > 1 and all(found) and len(set(found)) == len(found)
    }
    return [f"{name} ({number})" if _folded(name) in apart else name for name, number in names]


def _by_name(students: Sequence[_Student], ignored: list[str]) -> list[list[_Student]]:
    """Return the students of each name together; more than one in a list is for a person to settle.

    A file whose path leads out of the archive cannot be read, and nobody knows whose it is. So it
    takes nothing from a student whose name its path holds: it goes to `ignored`.
    """
    groups: dict[str, list[_Student]] = defaultdict(list)
    for student in students:
        groups[_folded(student.name)].append(student)
    for name, group in groups.items():
        if any(not student.stray for student in group):
            ignored += [
                f"{file.place} ({file.trouble})"
                for student in group
                if student.stray
                for file in student.files
            ]
            groups[name] = [student for student in group if not student.stray]
    return list(groups.values())


def _folded(name: str) -> str:
    """Return what names have in common that differ only in case, Unicode form or blanks."""
    return " ".join(
        unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", name).casefold()).split()
    )


def _unsettled(
    group: Sequence[_Student], challenges: Sequence[Challenge], ignored: list[str]
) -> list[Submission]:
    """Return submissions without a source, which say that several came under one name."""
    name = group[0].name
    named: set[str] = set()
    made: list[Submission] = []
    for challenge in challenges:
        places = [_place(student, challenge, challenges) for student in group]
        named.update(places[:_MOST_NAMED])
        made.append(
            Submission(
                name,
                challenge.id,
                valid(places[0]),
                None,
                valid(_same_name(group, places)),
                unsettled=tuple(map(valid, places)),
            )
        )
    ignored += [
        f"{file.place} ({len(group)} submissions have the name {name})"
        for student in group
        for file in student.files
        if _may_be_meant(file) and file.place not in named
    ]
    return made


def _place(student: _Student, challenge: Challenge, challenges: Sequence[Challenge]) -> str:
    """Return the file that would be graded if no other submission had this name, or its folder."""
    try:
        return _chosen(
            student, _latest(student.files, _expected(challenges)), challenge, challenges
        ).place
    except FileError:
        return student.place


def _same_name(group: Sequence[_Student], places: Sequence[str]) -> str:
    more = f" and {len(places) - _MOST_NAMED} more" if len(places) > _MOST_NAMED else ""
    spellings = len({student.name for student in group})
    alike = f" {_ALIKE}" if spellings > 1 else ""
    return f"{len(places)} submissions have the name {group[0].name}: {', '.join(places[:_MOST_NAMED])}{more}.{alike} {_SETTLE}"


def _submissions(
    student: _Student, challenges: Sequence[Challenge], ignored: list[str]
) -> list[Submission]:
    """What a student handed in, read, for each challenge; what is left over goes to `ignored`."""
    made: list[Submission] = []
    files = _latest(student.files, _expected(challenges))
    told: set[str] = set()
    for challenge in challenges:
        place, modified, source, trouble = student.place, None, None, ""
        unsettled: tuple[str, ...] = ()
        try:
            file = _chosen(student, files, challenge, challenges)
            place, modified = file.place, file.modified
            told.add(place)
            if file.times > 1:
                unsettled = (valid(place),) * file.times
            source = file.read()
        except _UnclearError as error:
            told |= error.named
            trouble = str(error)
        except FileError as error:
            trouble = str(error)
        if unsettled:
            trouble = f"{trouble.removesuffix(INSTEAD)}{_SETTLE}"
        made.append(
            Submission(
                student.name,
                challenge.id,
                valid(place),
                source,
                valid(trouble),
                modified,
                unsettled,
            )
        )
    last = max((file.attempt for file in files), default="")
    for file in student.files:
        if _may_be_meant(file) and file.place not in told:
            is_old = file.attempt < last or all(file.place != one.place for one in files)
            ignored.append(
                f"{file.place} ({file.trouble or ('an older upload' if is_old else 'not asked for')})"
            )
    return made


def _may_be_meant(file: File) -> bool:
    """Return whether the teacher is told of the file if it is not graded."""
    return file.is_python or bool(file.trouble) or file.name.lower().endswith(".zip")


def _expected(challenges: Sequence[Challenge]) -> set[str]:
    return {spelt(challenge.file_name) for challenge in challenges}


def _latest(files: Sequence[File], expected: set[str]) -> list[File]:
    """The files without those that a later upload of the same name replaces."""
    last: dict[str, tuple[int, int]] = {}
    for file in files:
        name, number = _called(file, expected)
        last[name] = max(last.get(name, (0, 0)), (file.upload, number))
    return [
        file
        for file in files
        if (file.upload, _called(file, expected)[1]) == last[_called(file, expected)[0]]
    ]


def _called(file: File, expected: set[str]) -> tuple[str, int]:
    """A file's name in one spelling, without the number that a system gave to a later upload of it; and that number."""
    name = file.parts[-1]
    again = _AGAIN.fullmatch(name) if file.upload and spelt(name) not in expected else None
    return (spelt(again[1] + again[3]), int(again[2])) if again else (spelt(name), 0)


class _UnclearError(FileError):
    """No file can be chosen; the sentence names those that there are."""

    def __init__(self, text: str, files: Iterable[File]) -> None:
        super().__init__(text)
        self.named = {file.place for file in islice(files, _MOST_NAMED)}


def _chosen(
    student: _Student, files: Sequence[File], challenge: Challenge, challenges: Sequence[Challenge]
) -> File:
    """The file to grade: of the last attempt that has one.

    Raises:
        _UnclearError: where there is none, or it cannot be told which is meant.
    """
    name, handed_in = challenge.file_name, f"What {student.name} handed in"
    expected = _expected(challenges)
    if student.alone and len(challenges) > 1:
        names = ", ".join(one.file_name for one in challenges)
        text = f"{student.place} is one file, but {len(challenges)} challenges are asked. Hand in a folder for each student, with {names} in it."
        raise _UnclearError(files[0].trouble or text, files)
    for attempt in sorted({file.attempt for file in files}, reverse=True):
        python = [file for file in files if file.attempt == attempt and file.is_python]
        for near in ([file for file in python if len(file.parts) == 1], python):
            called = [file for file in near if file.parts[-1] == name] or [
                file for file in near if _called(file, expected)[0] == spelt(name)
            ]
            if len(called) == 1:
                return called[0]
            if called:
                raise _UnclearError(
                    f"{handed_in} holds {len(called)} files for {name}: {_listed(called)}. Hand in one.",
                    called,
                )
            if near and len(challenges) == 1:
                if len(near) == 1:
                    return near[0]
                raise _UnclearError(
                    f"{handed_in} holds {len(near)} Python files and none is called {name}: {_listed(near)}. Hand in {name}.",
                    near,
                )
    refused = [file.trouble for file in files if file.trouble]
    if refused and len(refused) == len(files):
        raise _UnclearError(
            refused[0]
            if len(challenges) == 1
            else f"{student.name} did not hand in {name}: {refused[0]}",
            files,
        )
    there = f"it holds {_listed(files)}" if files else "it is empty"
    if len(challenges) == 1:
        raise _UnclearError(
            " ".join((f"{handed_in} holds no Python file: {there}. Hand in {name}.", *refused[:1])),
            files,
        )
    raise _UnclearError(
        " ".join(
            (
                f"{student.name} did not hand in {name}: {there}. Hand in a file of that name.",
                *refused[:1],
            )
        ),
        files,
    )


def _listed(files: Sequence[File]) -> str:
    more = f" and {len(files) - _MOST_NAMED} more" if len(files) > _MOST_NAMED else ""
    return ", ".join(file.name for file in files[:_MOST_NAMED]) + more
