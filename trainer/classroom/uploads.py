"""Find the files that students handed in, in a folder or in a zip, without reading them.

Follow no link out of what one student handed in, and open nothing but regular files. A file or
folder that cannot be read becomes that student's trouble.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from trainer.classroom.archives import INSTEAD, FileError, Tree, is_junk, unpack
from trainer.classroom.lms_names import is_named, spelt
from trainer.model.errors import DrillError
from trainer.practice.learner_files import read_source

MOST_FILES = 10_000  # of one student
ANSWERS = (".py", ".zip")
LAYOUTS = (
    "Name a folder with DIR/<student>.py or DIR/<student>/<any>.py, or the .zip of a learning"
    " management system."
)


@dataclass(frozen=True)
class File:
    """One file that a student handed in.

    parts     its path within what the student handed in; the last is "" for an unreadable folder
    place     where it is, for people
    trouble   why it is not read, in one sentence, or ""
    modified  seconds since the epoch, or None
    attempt   when it was handed in, in a form that sorts, or ""
    upload    the number of the upload, or 0
    times     how many files of the class's archive have this path
    """

    parts: tuple[str, ...]
    place: str
    path: Path
    trouble: str = ""
    modified: float | None = None
    attempt: str = ""
    upload: int = 0
    times: int = 1

    @property
    def name(self) -> str:
        """Return its path within what the student handed in."""
        return "/".join(self.parts)

    @property
    def suffix(self) -> str:
        """Return the ending of its name, such as ".py", in small letters."""
        return suffix(self.parts[-1])

    def read(self) -> str:
        """Return its text.

        Raises:
            FileError: it is refused, too large, or no text.
        """
        if self.trouble:
            raise FileError(self.trouble)
        try:
            return read_source(self.path, name=self.place, if_empty="Hand in your answer.")
        except DrillError as error:
            raise FileError(str(error)) from None


@dataclass(frozen=True)
class Upload:
    """A file or folder at the top of what a class handed in, with its files."""

    name: str
    place: str
    is_folder: bool
    files: tuple[File, ...]

    @property
    def is_loose(self) -> bool:
        """Return whether it is a file, and neither a folder nor a zip to unpack."""
        return not self.is_folder and (suffix(self.name) != ".zip" or bool(self.files[0].trouble))

    @property
    def student(self) -> str:
        """Return its owner, if no system wrote its name."""
        is_answer = not self.is_folder and suffix(self.name) in ANSWERS
        return valid(os.path.splitext(self.name)[0] if is_answer else self.name)


def suffix(name: str) -> str:
    """Return the ending of a file name, such as ".py", in small letters."""
    return os.path.splitext(name)[1].lower()


def valid(text: str) -> str:
    """Return the text with U+FFFD for NUL and for bytes that are no UTF-8."""
    return re.sub("[\0\ud800-\udfff]", "\ufffd", text)


def class_uploads(
    where: Path, expected: Collection[str], stack: ExitStack, ignored: list[str]
) -> list[Upload]:
    """Return what a class handed in; add everything else to `ignored`.

    Args:
        where: a folder, or a zip that is unpacked until `stack` is closed.
        expected: names of the files that were asked for, as `spelt` has them.
        stack: closed when the files have been read.
        ignored: the places of other files, with a reason if it is not plain.

    Raises:
        DrillError: the folder or the zip cannot be read.
    """
    try:
        if stat.S_ISDIR(os.stat(where).st_mode):
            tree = Tree(where)
        elif suffix(where.name) == ".zip":
            archive = unpack(where, where.name, "", stack)
            tree = _without_common_folder(archive, expected, ignored)
        else:
            raise DrillError(f"{where} is neither a folder nor a .zip. {LAYOUTS}")
        entries = tree.entries(tree.root)
    except OSError as error:
        raise DrillError(f"{where} cannot be read: {error.strerror or error}. {LAYOUTS}") from None
    uploads: list[Upload] = []
    for name, path in _visible(entries, tree.place, ignored):
        place = tree.place + name
        is_folder = os.path.isdir(path)
        files: tuple[File, ...] = ()
        if not is_folder or os.path.islink(path):
            files = (_file(tree, path, (name,), place),)
        elif _is_earlier_run(tree, path):
            ignored.append(f"{place}/ (results of an earlier run)")
            continue
        else:
            place += "/"
            files = _walked(replace(tree, root=path, place=place, is_of_one=True), ignored)
        uploads.append(Upload(name, place, is_folder, files))
    return uploads


def _is_earlier_run(tree: Tree, folder: Path) -> bool:
    """Return whether `grade` wrote this folder."""
    try:
        paths = dict(tree.entries(folder, MOST_FILES))
    except OSError:
        return False
    return "class.json" in paths and "results" in paths and os.path.isdir(paths["results"])


def single_upload(where: Path, ignored: list[str]) -> Upload:
    """Return all that one student handed in; add hidden files to `ignored`.

    Raises:
        DrillError: it is no folder, zip or Python file, or it cannot be read.
    """
    name = os.path.basename(os.path.abspath(where)) or "student"
    try:
        if stat.S_ISDIR(os.stat(where).st_mode):
            os.listdir(where)
            tree = Tree(where, is_of_one=True)
            return Upload(name, f"{name}/", True, _walked(tree, ignored))
    except OSError as error:
        raise DrillError(
            f"{where} cannot be read: {error.strerror or error}. Name the folder, .zip or .py of"
            " one student."
        ) from None
    file = File((name,), name, where, modified=os.stat(where).st_mtime)
    if file.suffix in ANSWERS:
        return Upload(name, name, False, (file,))
    raise DrillError(
        f"{where} is neither a folder nor a .zip nor a .py. Name what one student handed in."
    )


def with_zip_unpacked(
    files: Sequence[File], stack: ExitStack, ignored: list[str]
) -> Sequence[File]:
    """Return the files of a student. Files of a zip replace it if it is the only answer.

    The zip is unpacked until `stack` is closed.
    """
    zips = [file for file in files if file.suffix == ".zip" and not file.trouble]
    if len(zips) != 1 or any(file.suffix == ".py" for file in files):
        return files
    (file,) = zips
    try:
        inner = _walked(unpack(file.path, file.place, f"{file.place}/", stack), ignored)
    except DrillError as error:
        inner = (replace(file, trouble=str(error)),)
    others = [other for other in files if other is not file]
    # A path that is twice in a student's own zip is the student's trouble, not the teacher's.
    return [*others, *(replace(below, times=1) for below in inner)]


def _walked(tree: Tree, ignored: list[str]) -> tuple[File, ...]:
    """Return the files of one student, without junk."""
    files: list[File] = []
    waiting: list[tuple[Path, tuple[str, ...]]] = [(tree.root, ())]
    left = MOST_FILES
    while waiting:
        folder, above = waiting.pop()
        place = tree.place + "".join(f"{part}/" for part in above)
        try:
            entries = tree.entries(folder, left + 1)
        except OSError as error:
            trouble = f"{place} cannot be read: {error.strerror or error}. Check its permissions."
            files.append(File((*above, ""), place, folder, trouble))
            continue
        left -= len(entries)
        if left < 0:
            place = tree.place or "The folder"
            trouble = f"{place} holds more than {MOST_FILES:,} files. {INSTEAD}"
            return (File(("",), tree.place, tree.root, trouble),)
        for name, path in _visible(entries, place, ignored):
            parts = (*above, name)
            if os.path.isdir(path) and not os.path.islink(path):
                waiting.append((path, parts))
            else:
                files.append(_file(tree, path, parts, place + name))
    return tuple(files)


def _file(tree: Tree, path: Path, parts: tuple[str, ...], place: str) -> File:
    """Return a file. Refuse a link, unless it leads to a file of the same student."""
    member = tree.members.get(path)
    if member:
        return File(parts, place, path, member.trouble, member.modified, times=member.times)
    if os.path.islink(path):
        target = Path(os.path.realpath(path))
        is_own = tree.is_of_one and target.is_relative_to(os.path.realpath(tree.root))
        if not is_own or not os.path.isfile(target):
            trouble = (
                f"{place} is a symbolic link that does not lead to a file of the same student."
                " Hand in the file itself."
            )
            return File(parts, place, path, trouble)
        path = target
    try:
        modified = os.stat(path).st_mtime
    except OSError:
        modified = None
    return File(parts, place, path, modified=modified)


def _visible(
    entries: Sequence[tuple[str, Path]], place: str, ignored: list[str]
) -> list[tuple[str, Path]]:
    """Return the entries of a folder without junk. Add hidden Python files to `ignored`.

    macOS writes a file `._x.py` for every file `x.py`; nobody meant it.
    """
    visible: list[tuple[str, Path]] = []
    for name, path in entries:
        if not is_junk(name):
            visible.append((name, path))
        elif suffix(name) == ".py" and not name.startswith("._"):
            ignored.append(f"{place}{name} (hidden)")
    return visible


def _without_common_folder(tree: Tree, expected: Collection[str], ignored: list[str]) -> Tree:
    """Return the one folder of an archive that holds the whole class, or else the archive itself.

    Files that lead out of the archive, whose names hold a slash, are ignored next to that folder.
    """
    hidden: list[str] = []
    entries = _visible(tree.entries(tree.root), "", hidden)
    outside = [tree.members[path].trouble for name, path in entries if "/" in name]
    inside = [(name, path) for name, path in entries if "/" not in name]
    if len(inside) != 1:
        return tree
    ((name, folder),) = inside
    if not folder.is_dir() or is_named(name, True):
        return tree
    inner = _visible(tree.entries(folder), "", [])
    if not _holds_a_class([(name, path.is_dir()) for name, path in inner], expected):
        return tree
    ignored += [*hidden, *outside]
    return replace(tree, root=folder, place=f"{name}/")


def _holds_a_class(entries: list[tuple[str, bool]], expected: Collection[str]) -> bool:
    """Return whether a folder is a class's, and no student's. An entry is a name and is_folder."""
    if any(is_named(*entry) for entry in entries):
        return True
    students = 0
    for name, is_folder in entries:
        if not is_folder and spelt(name) in expected:
            return False
        students += is_folder or suffix(name) in ANSWERS
    return students > 1
