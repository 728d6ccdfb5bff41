"""What lies in a folder or an archive of a class, from wherever it comes: files of students that are not read yet.

No link is followed out of what one student handed in, nothing that is no regular file is opened, and what cannot be read becomes that student's trouble.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import islice, takewhile
from pathlib import Path
from typing import Literal

from trainer.classroom.archives import Archive, FileError, Member
from trainer.classroom.systems import has_common_top, spelt
from trainer.core.words import DrillError
from trainer.practice.files import MOST_SOURCE_BYTES, decoded, read_source

MOST_FILES = 10_000  # of one student

_JUNK = frozenset(("__pycache__", "__MACOSX", "node_modules", "venv", "site-packages"))
_RESULTS = "results of an earlier run"


@dataclass(frozen=True)
class File:
    """One file that a student handed in.

    parts     its path inside of that; the last is "" for a folder that cannot be read
    place     where it is, for people
    read      gives its text, or raises FileError
    trouble   why it is not to be read, or ""
    attempt   when it was handed in, in a form that sorts, where its name says so
    upload    the number of the upload, where its name says so
    times     how many files of the class's archive have this path
    """

    parts: tuple[str, ...]
    place: str
    read: Callable[[], str]
    modified: float | None = None
    trouble: str = ""
    attempt: str = ""
    upload: int = 0
    times: int = 1

    @property
    def name(self) -> str:
        """Its path inside of what the student handed in."""
        return "/".join(self.parts)

    @property
    def is_python(self) -> bool:
        """Whether it is called like one."""
        return is_python(self.parts[-1])


@dataclass(frozen=True)
class Item:
    """What lies at the top: a file, or a folder or an archive with files in it.

    A stray's name leads out of the archive, so nobody knows whose it is; a single item is all there is, so its name follows nobody's rules.
    """

    name: str
    place: str
    kind: Literal["file", "folder", "archive", "stray", "single"]
    files: tuple[File, ...]

    @property
    def student(self) -> str:
        """Whose it is, where the name says nothing else."""
        stem, suffix = os.path.splitext(self.name)
        return stem if self.kind != "folder" and suffix.lower() in (".py", ".zip") else self.name


def is_python(name: str) -> bool:
    """Whether a file is called like a Python file."""
    return name.lower().endswith(".py")


def valid(text: str) -> str:
    """The text as valid Unicode: bytes of a name that were none become U+FFFD."""
    return re.sub("[\ud800-\udfff]", "\ufffd", text)


def in_folder(where: Path) -> tuple[list[Item], list[str]]:
    """Items of a folder; and what is none, for people.

    Raises:
        DrillError: where the folder cannot be read.
    """
    items: list[Item] = []
    ignored: list[str] = []
    try:
        names = sorted(os.listdir(where))
    except OSError as error:
        raise DrillError(
            f"{where} cannot be read: {error.strerror or error}. Check its permissions."
        ) from None
    for name in names:
        path = where / name
        if _is_junk(name):
            ignored += _hidden(name, name)
        elif os.path.islink(path):
            is_folder = os.path.isdir(path)
            if (
                is_folder
                or is_python(name)
                or name.lower().endswith(".zip")
                or not os.path.exists(path)
            ):
                items.append(
                    Item(
                        name,
                        name,
                        "folder" if is_folder else "file",
                        (_refused((name,), name, _link(name)),),
                    )
                )
            else:
                ignored.append(f"{name} (a symbolic link)")
        elif (
            os.path.isdir(path)
            and os.path.isfile(path / "class.json")
            and os.path.isdir(path / "results")
        ):
            ignored.append(f"{name}/ ({_RESULTS})")
        elif os.path.isdir(path):
            items.append(Item(name, f"{name}/", "folder", _walked(path, f"{name}/", ignored)))
        elif name.lower().endswith(".zip"):
            items.append(Item(name, name, "archive", _unzipped(path, name, ignored)))
        else:
            items.append(Item(name, name, "file", (_on_disk(path, (name,), name),)))
    return items, ignored


def of_one_student(where: Path, ignored: list[str]) -> Item:
    """All that one student handed in, as a folder, a zip or a file.

    Raises:
        DrillError: where there is no such place, or it cannot be read.
    """
    name = os.path.basename(os.path.abspath(where)) or "student"
    try:
        if stat.S_ISDIR(os.stat(where).st_mode):
            os.listdir(where)
            return Item(name, f"{name}/", "single", _walked(where, "", ignored))
    except OSError as error:
        raise DrillError(
            f"{where} cannot be read: {error.strerror or error}. Name the folder, .zip or .py of one student."
        ) from None
    if name.lower().endswith(".zip"):
        return Item(name, name, "single", _unzipped(where, name, ignored))
    if is_python(name):
        return Item(name, name, "single", (_on_disk(where, (name,), name),))
    raise DrillError(
        f"{where} is neither a folder nor a .zip nor a .py. Name what one student handed in."
    )


def _walked(root: Path, place: str, ignored: list[str]) -> tuple[File, ...]:
    """The files below a student's folder. Where no Python file is among them and one zip is, the files of that zip take its place."""
    files: list[File] = []
    inside = os.path.realpath(root)
    waiting: list[tuple[str, ...]] = [()]
    left = MOST_FILES
    while waiting:
        above = waiting.pop()
        here = root.joinpath(*above)
        try:
            with os.scandir(here) as listing:
                names = sorted(entry.name for entry in islice(listing, left + 1))
        except OSError as error:
            shown = place + "".join(f"{part}/" for part in above)
            files.append(
                _refused(
                    (*above, ""),
                    shown,
                    f"{shown} cannot be read: {error.strerror or error}. Check its permissions.",
                )
            )
            continue
        left -= len(names)
        if left < 0:
            return (
                _refused(
                    ("",),
                    place,
                    f"{place or 'The folder'} holds more than {MOST_FILES:,} files. Hand in the Python file itself.",
                ),
            )
        for name in names:
            parts, path, shown = (*above, name), here / name, place + "/".join((*above, name))
            if _is_junk(name):
                ignored += _hidden(name, shown)
            elif os.path.islink(path):
                target = Path(os.path.realpath(path))
                own = os.path.isfile(target) and target.is_relative_to(inside)
                files.append(
                    _on_disk(target, parts, shown) if own else _refused(parts, shown, _link(shown))
                )
            elif os.path.isdir(path):
                waiting.append(parts)
            else:
                files.append(_on_disk(path, parts, shown))
    zips = [file for file in files if file.name.lower().endswith(".zip") and not file.trouble]
    if len(zips) == 1 and not any(file.is_python for file in files):
        files.remove(zips[0])
        files += _unzipped(root.joinpath(*zips[0].parts), zips[0].place, ignored)
    return tuple(files)


def _unzipped(path: Path, place: str, ignored: list[str]) -> tuple[File, ...]:
    """The files of a zip that a student handed in."""
    try:
        with Archive(path, place) as archive:
            return tuple(
                _member(member, f"{place}/", partial(_from_zip, path, place))
                for member in _of_interest(archive, f"{place}/", ignored)
            )
    except DrillError as error:
        return (_refused((path.name,), place, str(error)),)


def in_archive(archive: Archive, expected: Sequence[str]) -> tuple[list[Item], list[str]]:
    """Items of an archive that a whole class is in; and what is none, for people.

    Args:
        archive: it must stay open as long as files are read.
        expected: names of the files that were asked for.
    """
    ignored: list[str] = []
    items: list[Item] = []
    files: list[File] = []
    for member in _of_interest(archive, "", ignored):
        file = replace(_member(member, "", partial(_from_archive, archive)), times=member.times)
        if not member.outside:
            files.append(file)
        elif file.is_python:
            items.append(
                Item(
                    member.parts[0], member.name, "stray", (replace(file, parts=member.parts[-1:]),)
                )
            )
        else:
            ignored.append(f"{member.name} ({member.trouble})")
    folders = _folders(archive)
    top = (
        1
        if has_common_top(
            [file.parts for file in files], folders, [spelt(name) for name in expected]
        )
        else 0
    )
    above = f"{(files[0].parts if files else folders[0])[0]}/" if top else ""
    below: dict[str, list[File]] = {parts[top]: [] for parts in folders if len(parts) > top}
    for file in files:
        if len(file.parts) == top + 1:
            items.append(
                Item(file.parts[top], file.place, "file", (replace(file, parts=file.parts[top:]),))
            )
        else:
            below.setdefault(file.parts[top], []).append(replace(file, parts=file.parts[top + 1 :]))
    for name, inner in below.items():
        if {"class.json", "results"} <= {file.parts[0] for file in inner}:
            ignored.append(f"{above}{name}/ ({_RESULTS})")
        else:
            items.append(Item(name, f"{above}{name}/", "folder", tuple(inner)))
    return items, ignored


def _of_interest(archive: Archive, place: str, ignored: list[str]) -> list[Member]:
    """The files of an archive that are no junk."""
    found: list[Member] = []
    for member in archive.members:
        junk = [part for part in member.parts if _is_junk(part)]
        if junk and junk == list(member.parts[-1:]):
            ignored += _hidden(junk[0], place + member.name)
        elif member.parts and not junk and (member.outside or not member.is_folder):
            found.append(member)
    return found


def _folders(archive: Archive) -> list[tuple[str, ...]]:
    """The folders that have an entry of their own, or nothing but junk in them, so that no student is overlooked."""
    found: dict[tuple[str, ...], None] = {}
    for member in archive.members:
        parts = tuple(takewhile(lambda part: not _is_junk(part), member.parts))
        if parts and not member.outside and (member.is_folder or parts != member.parts):
            found[parts] = None
    return list(found)


def _member(member: Member, place: str, read: Callable[[Member], str]) -> File:
    return File(
        member.parts, place + member.name, partial(read, member), member.modified, member.trouble
    )


def _from_archive(archive: Archive, member: Member) -> str:
    return _decoded(archive.read(member, MOST_SOURCE_BYTES), member.name)


def _from_zip(path: Path, place: str, member: Member) -> str:
    """The text of a member of one student's own zip, which is opened again for it."""
    try:
        with Archive(path, place) as archive:
            return _decoded(archive.read(member, MOST_SOURCE_BYTES), f"{place}/{member.name}")
    except FileError:
        raise
    except DrillError as error:
        raise FileError(str(error)) from None


def _decoded(data: bytes, place: str) -> str:
    """The text of a submission that is no file on the disk; the same is asked of it as there."""
    try:
        return decoded(data, place, "Hand in your answer.")
    except DrillError as error:
        raise FileError(str(error)) from None


def _on_disk(path: Path, parts: tuple[str, ...], place: str) -> File:
    try:
        modified = os.stat(path).st_mtime
    except OSError:
        modified = None
    return File(parts, place, partial(_source, path, place), modified)


def _source(path: Path, place: str) -> str:
    try:
        return read_source(path)
    except DrillError as error:
        raise FileError(str(error).replace(str(path), place)) from None


def _refused(parts: tuple[str, ...], place: str, trouble: str) -> File:
    return File(parts, place, partial(_raise, trouble), trouble=trouble)


def _raise(trouble: str) -> str:
    raise FileError(trouble)


def _link(place: str) -> str:
    return f"{place} is a symbolic link that does not lead to a file of the same student. Hand in the file itself."


def _is_junk(name: str) -> bool:
    return name.startswith(".") or name in _JUNK


def _hidden(name: str, place: str) -> list[str]:
    """What is said of a hidden Python file: somebody may have meant it. `._` is what macOS puts beside every file."""
    return [f"{place} (hidden)"] if is_python(name) and not name.startswith("._") else []
