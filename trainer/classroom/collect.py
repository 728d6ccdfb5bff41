"""Choose what a class handed in for each challenge, from a folder or the zip of a learning management system.

Nothing is lost on the way: a Python file is graded, or the trouble of its student names it, or it is among what was ignored.
"""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import islice
from pathlib import Path

from trainer.classroom.archives import Archive, FileError
from trainer.classroom.found import File, Item, in_archive, in_folder, of_one_student, valid
from trainer.classroom.systems import Named, handed_in_at, named, spelt
from trainer.classroom.words import Submission
from trainer.core.words import Challenge, DrillError

LAYOUTS = "Name a folder with DIR/<student>.py or DIR/<student>/<any>.py, or the .zip of a learning management system."

_MOST_NAMED = 10  # files in one sentence
_AGAIN = re.compile(r"(.+)-([0-9]{1,18})(\.[^.]+)", re.DOTALL)  # how Canvas numbers the uploads of one name


@dataclass(frozen=True)
class Collected:
    """What a folder or an archive holds.

    submissions   one for each student and challenge, by student
    ignored       the place of everything else, with the reason where it is not plain
    """

    submissions: list[Submission]
    ignored: list[str]


@dataclass(frozen=True)
class _Student:
    """Who handed in what. `alone`: a file without a folder, whose name says nothing but the student's."""

    name: str
    place: str
    files: tuple[File, ...]
    alone: bool


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
        raise DrillError(valid(f"{where} cannot be read: {error.strerror or error}. {LAYOUTS}")) from None
    if not is_folder and where.suffix.lower() != ".zip":
        raise DrillError(valid(f"{where} is neither a folder nor a .zip. {LAYOUTS}"))
    with ExitStack() as stack:
        try:
            if is_folder:
                items, ignored = in_folder(where)
            else:
                items, ignored = in_archive(stack.enter_context(Archive(where, where.name)), [challenge.file_name for challenge in challenges])
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


def _collected(items: Iterable[Item], ignored: list[str], challenges: Sequence[Challenge]) -> Collected:
    found = [made for student in _students(items, ignored) for made in _submissions(student, challenges, ignored)]
    return Collected(sorted(found, key=lambda one: (_folded(one.student), one.student)), sorted(map(valid, ignored)))


def _students(items: Iterable[Item], ignored: list[str]) -> list[_Student]:
    """The items of each student together."""
    owned: dict[tuple[str, ...], list[Item]] = {}
    names: dict[tuple[str, ...], tuple[str, str]] = {}
    items = sorted(items, key=lambda item: (item.kind == "stray", item.place))
    told = {item.place: None if item.kind in ("stray", "single") else named(item.name, item.kind == "folder") for item in items}
    is_canvas = any((name := told[item.place]) and not name.certain and item.name.lower().endswith((".py", ".zip")) for item in items)
    for item in items:
        name = told[item.place]
        if item.kind == "file" and not item.name.lower().endswith((".py", ".zip")) and not (name and (name.certain or is_canvas)):
            ignored.append(item.place)
            continue
        key = name.key if name else (item.kind, item.place)
        names[key] = (valid(name.student), name.id) if name else (valid(item.student), "")
        owned.setdefault(key, []).append(replace(item, files=tuple(_as_named(file, name, item.kind == "file") for file in item.files)) if name else item)
    return [
        _Student(
            name,
            owned[key][0].place,
            tuple(sorted((file for item in owned[key] for file in item.files), key=lambda file: file.place)),
            key[0] in ("file", "stray"),
        )
        for key, name in zip(owned, _unique([names[key] for key in owned]), strict=True)
    ]


def _as_named(file: File, name: Named, alone: bool) -> File:
    parts = (name.file,) if alone else file.parts
    return replace(file, parts=parts, attempt=name.attempt, upload=name.upload, modified=handed_in_at(name.attempt) or file.modified)


def _unique(names: Sequence[tuple[str, str]]) -> list[str]:
    """A name for each student, given name and number, that no other has, however it is spelt; the first of a name keeps it."""
    numbers = Counter(_folded(name) for name, number in names if number)
    wanted = [f"{name} ({number})" if number and numbers[_folded(name)] > 1 else name for name, number in names]
    taken: set[str] = set()
    found: dict[int, str] = {}
    for index, name in enumerate(wanted):
        if _folded(name) not in taken:
            taken.add(_folded(name))
            found[index] = name
    for index, name in enumerate(wanted):
        if index not in found:
            found[index] = next(one for count in range(2, len(names) + 2) if _folded(one := f"{name} ({count})") not in taken)
            taken.add(_folded(found[index]))
    return [found[index] for index in range(len(names))]


def _folded(name: str) -> str:
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def _submissions(student: _Student, challenges: Sequence[Challenge], ignored: list[str]) -> list[Submission]:
    """What a student handed in, read, for each challenge; what is left over goes to `ignored`."""
    made: list[Submission] = []
    files = _latest(student.files, {spelt(challenge.file_name) for challenge in challenges})
    told: set[str] = set()
    for challenge in challenges:
        place, modified, source, trouble = student.place, None, None, ""
        try:
            file = _chosen(student, files, challenge, challenges)
            place, modified = file.place, file.modified
            told.add(place)
            source = file.read()
        except _UnclearError as error:
            told |= error.named
            trouble = str(error)
        except FileError as error:
            trouble = str(error)
        made.append(Submission(student.name, challenge.id, valid(place), source, valid(trouble), modified))
    last = max((file.attempt for file in files), default="")
    for file in student.files:
        if (file.is_python or file.trouble or file.name.lower().endswith(".zip")) and file.place not in told:
            is_old = file.attempt < last or all(file.place != one.place for one in files)
            ignored.append(f"{file.place} ({file.trouble or ('an older upload' if is_old else 'not asked for')})")
    return made


def _latest(files: Sequence[File], expected: set[str]) -> list[File]:
    """The files without those that a later upload of the same name replaces."""
    last: dict[str, tuple[int, int]] = {}
    for file in files:
        name, number = _called(file, expected)
        last[name] = max(last.get(name, (0, 0)), (file.upload, number))
    return [file for file in files if (file.upload, _called(file, expected)[1]) == last[_called(file, expected)[0]]]


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


def _chosen(student: _Student, files: Sequence[File], challenge: Challenge, challenges: Sequence[Challenge]) -> File:
    """The file to grade: of the last attempt that has one.

    Raises:
        _UnclearError: where there is none, or it cannot be told which is meant.
    """
    name, handed_in = challenge.file_name, f"What {student.name} handed in"
    expected = {spelt(one.file_name) for one in challenges}
    if student.alone and len(challenges) > 1:
        names = ", ".join(one.file_name for one in challenges)
        text = f"{student.place} is one file, but {len(challenges)} challenges are asked. Hand in a folder for each student, with {names} in it."
        raise _UnclearError(files[0].trouble or text, files)
    for attempt in sorted({file.attempt for file in files}, reverse=True):
        python = [file for file in files if file.attempt == attempt and file.is_python]
        for near in ([file for file in python if len(file.parts) == 1], python):
            called = [file for file in near if file.parts[-1] == name] or [file for file in near if _called(file, expected)[0] == spelt(name)]
            if len(called) == 1:
                return called[0]
            if called:
                raise _UnclearError(f"{handed_in} holds {len(called)} files for {name}: {_listed(called)}. Hand in one.", called)
            if near and len(challenges) == 1:
                if len(near) == 1:
                    return near[0]
                raise _UnclearError(f"{handed_in} holds {len(near)} Python files and none is called {name}: {_listed(near)}. Hand in {name}.", near)
    refused = [file.trouble for file in files if file.trouble]
    if refused and len(refused) == len(files):
        raise _UnclearError(refused[0] if len(challenges) == 1 else f"{student.name} did not hand in {name}: {refused[0]}", files)
    there = f"it holds {_listed(files)}" if files else "it is empty"
    if len(challenges) == 1:
        raise _UnclearError(" ".join((f"{handed_in} holds no Python file: {there}. Hand in {name}.", *refused[:1])), files)
    raise _UnclearError(" ".join((f"{student.name} did not hand in {name}: {there}. Hand in a file of that name.", *refused[:1])), files)


def _listed(files: Sequence[File]) -> str:
    more = f" and {len(files) - _MOST_NAMED} more" if len(files) > _MOST_NAMED else ""
    return ", ".join(file.name for file in files[:_MOST_NAMED]) + more
