"""Find the files that students handed in, in a folder or in a zip, without reading them.

Follow no link that leads out of one student's files, and open only regular files. If a file or
folder cannot be read, only its student gets an error message.
"""

from __future__ import annotations

import os
import re
import stat
from collections.abc import Collection, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

from trainer.classroom.archives import (
    HAND_IN_FILE,
    NOTEBOOK,
    PYTHON,
    FileError,
    Tree,
    is_junk,
    most_bytes,
    unpack,
)
from trainer.classroom.lms_names import is_lms_name, normalised_name
from trainer.classroom.notebook_cells import definitions
from trainer.model.errors import DrillError
from trainer.practice.learner_files import read_source

MOST_FILES = 10_000  # for each student
ANSWER_SUFFIXES = (PYTHON, NOTEBOOK, ".zip")
# Folders that the computer makes without asking. Nobody means to hand them in.
_SILENT_JUNK = frozenset(
    ("__pycache__", "__MACOSX", ".git", ".ipynb_checkpoints", ".idea", ".vscode")
)
LAYOUTS = (
    "Name a folder with DIR/<student>.py or DIR/<student>/<any>.py, or the .zip of a learning"
    " management system."
)


@dataclass(frozen=True)
class File:
    """One file that a student handed in.

    Attributes:
        parts: the parts of the path within the student's files. The last part is "" for a folder
            that cannot be read.
        place: the path that messages show.
        path: the path on the disk.
        trouble: the reason why the file is not read, in one sentence, or "".
        archived_at: the time of the file in the archive of the class, in seconds since the epoch;
            None for a file from a folder, because every copy of a file may change its time.
        submitted: the time that the learning management system gives, in seconds since the epoch,
            or None.
        is_marked_late: True if the system's file name says that the file is late.
        has_late_marks: True if the system marks every late file in its name.
        attempt: the time of the attempt as text that sorts by time, or "".
        upload: the number of the upload, or 0.
        times: how many files of the class's archive have this path.
    """

    parts: tuple[str, ...]
    place: str
    path: Path
    trouble: str = ""
    archived_at: float | None = None
    submitted: float | None = None
    is_marked_late: bool = False
    has_late_marks: bool = False
    attempt: str = ""
    upload: int = 0
    times: int = 1

    @property
    def name(self) -> str:
        """The path within the student's files."""
        return "/".join(self.parts)

    @property
    def suffix(self) -> str:
        """The ending of the file name in lower case, for example ".py"."""
        return suffix(self.parts[-1])

    def read(self, entry: Collection[str]) -> str:
        """Return the text of the file, or the part of a notebook that the answer needs.

        Args:
            entry: the names that the challenge asks for.

        Raises:
            FileError: the file is refused, is too large, is not text, or is a notebook that
                defines none of the names.
        """
        if self.trouble:
            raise FileError(self.trouble)
        try:
            text = read_source(
                self.path,
                name=self.place,
                if_empty="Hand in your answer.",
                most_bytes=most_bytes(self.name),
            )
        except DrillError as error:
            raise FileError(str(error)) from None
        return definitions(text, self.place, entry) if self.suffix == NOTEBOOK else text


@dataclass(frozen=True)
class Upload:
    """A file or folder at the top level of a class's submissions, with the files below it."""

    name: str
    place: str
    is_folder: bool
    files: tuple[File, ...]

    @property
    def is_loose(self) -> bool:
        """True for a file that is not a zip to unpack."""
        return not self.is_folder and (suffix(self.name) != ".zip" or bool(self.files[0].trouble))

    @property
    def student(self) -> str:
        """The student's name, for an upload without a name from a learning management system."""
        is_answer = not self.is_folder and suffix(self.name) in ANSWER_SUFFIXES
        return valid_text(os.path.splitext(self.name)[0] if is_answer else self.name)


def suffix(name: str) -> str:
    """Return the ending of a file name in lower case, for example ".py"."""
    return os.path.splitext(name)[1].lower()


def valid_text(text: str) -> str:
    """Return the text with U+FFFD in place of NUL and of bytes that are not UTF-8."""
    return re.sub("[\0\ud800-\udfff]", "\ufffd", text)


def class_uploads(
    folder_or_zip: Path, expected: Collection[str], stack: ExitStack, ignored: list[str]
) -> list[Upload]:
    """Return the uploads of a class. Add everything else to `ignored`.

    Args:
        folder_or_zip: a folder, or a zip that stays unpacked until `stack` is closed.
        expected: the file names that the challenges ask for, in the form of `normalised_name`.
        stack: the caller closes the stack after reading the files.
        ignored: gets the paths of other files, with a reason if the reason is not obvious.

    Raises:
        DrillError: the folder or the zip cannot be read.
    """
    try:
        if stat.S_ISDIR(os.stat(folder_or_zip).st_mode):
            tree = Tree(folder_or_zip)
        elif suffix(folder_or_zip.name) == ".zip":
            archive = unpack(folder_or_zip, folder_or_zip.name, "", stack)
            tree = _without_common_folder(archive, expected, ignored)
        else:
            raise DrillError(f"{folder_or_zip} is neither a folder nor a .zip. {LAYOUTS}")
        entries = tree.entries(tree.root)
    except OSError as error:
        raise DrillError(
            f"{folder_or_zip} cannot be read: {error.strerror or error}. {LAYOUTS}"
        ) from None
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
            files = _walked(replace(tree, root=path, place=place, is_one_student=True), ignored)
        uploads.append(Upload(name, place, is_folder, files))
    return uploads


def _is_earlier_run(tree: Tree, folder: Path) -> bool:
    """Return whether an earlier run of `grade` wrote this folder."""
    try:
        paths = dict(tree.entries(folder, MOST_FILES))
    except OSError:
        return False
    return "class.json" in paths and "results" in paths and os.path.isdir(paths["results"])


def single_upload(path: Path, ignored: list[str]) -> Upload:
    """Return all files of one student as an upload. Add hidden files to `ignored`.

    Args:
        path: the student's folder, .zip or .py.
        ignored: gets the paths of hidden files.

    Raises:
        DrillError: the path is not a folder, zip or Python file, or it cannot be read.
    """
    name = os.path.basename(os.path.abspath(path)) or "student"
    try:
        if stat.S_ISDIR(os.stat(path).st_mode):
            os.listdir(path)
            tree = Tree(path, is_one_student=True)
            return Upload(name, f"{name}/", True, _walked(tree, ignored))
    except OSError as error:
        raise DrillError(
            f"{path} cannot be read: {error.strerror or error}. Name the folder, .zip or .py of"
            " one student."
        ) from None
    file = File((name,), name, path)
    if file.suffix in ANSWER_SUFFIXES:
        return Upload(name, name, False, (file,))
    raise DrillError(
        f"{path} is neither a folder nor a .zip nor a .py nor a .ipynb. Name the files of one"
        " student."
    )


def with_zip_unpacked(
    files: Sequence[File], stack: ExitStack, ignored: list[str]
) -> Sequence[File]:
    """Return the files of a student. If a zip is the only answer, its files replace the zip.

    Args:
        files: the student's files.
        stack: the zip stays unpacked until the stack is closed.
        ignored: gets the paths of hidden files in the zip.
    """
    zips = [file for file in files if file.suffix == ".zip" and not file.trouble]
    if len(zips) != 1 or any(file.suffix == PYTHON for file in files):
        return files
    (file,) = zips
    try:
        inner = _walked(unpack(file.path, file.place, f"{file.place}/", stack), ignored)
    except DrillError as error:
        inner = (replace(file, trouble=str(error)),)
    others = [other for other in files if other is not file]
    # If a student's own zip holds a path twice, the student must hand in again. The teacher has
    # nothing to settle. The student's computer wrote the times in it, so only the time of the zip
    # itself counts.
    return [
        *others,
        *(replace(inner_file, times=1, archived_at=file.archived_at) for inner_file in inner),
    ]


def _walked(tree: Tree, ignored: list[str]) -> tuple[File, ...]:
    """Return the files of one student, without hidden files and files made by tools."""
    files: list[File] = []
    waiting: list[tuple[Path, tuple[str, ...]]] = [(tree.root, ())]
    budget = MOST_FILES
    while waiting:
        folder, above = waiting.pop()
        place = tree.place + "".join(f"{part}/" for part in above)
        try:
            entries = tree.entries(folder, budget + 1)
        except OSError as error:
            trouble = f"{place} cannot be read: {error.strerror or error}. Check its permissions."
            files.append(File((*above, ""), place, folder, trouble))
            continue
        budget -= len(entries)
        if budget < 0:
            place = tree.place or "The folder"
            trouble = f"{place} holds more than {MOST_FILES:,} files. {HAND_IN_FILE}"
            return (File(("",), tree.place, tree.root, trouble),)
        for name, path in _visible(entries, place, ignored):
            parts = (*above, name)
            if os.path.isdir(path) and not os.path.islink(path):
                waiting.append((path, parts))
            else:
                files.append(_file(tree, path, parts, place + name))
    return tuple(files)


def _file(tree: Tree, path: Path, parts: tuple[str, ...], place: str) -> File:
    """Return a file. Refuse a link unless the link leads to a file of the same student."""
    member = tree.members.get(path)
    if member:
        return File(parts, place, path, member.trouble, member.modified, times=member.times)
    if os.path.islink(path):
        target = Path(os.path.realpath(path))
        is_own = tree.is_one_student and target.is_relative_to(os.path.realpath(tree.root))
        if not is_own or not os.path.isfile(target):
            trouble = (
                f"{place} is a symbolic link that does not lead to a file of the same student."
                " Hand in the file itself."
            )
            return File(parts, place, path, trouble)
        path = target
    return File(parts, place, path)


def _visible(
    entries: Sequence[tuple[str, Path]], place: str, ignored: list[str]
) -> list[tuple[str, Path]]:
    """Return the entries of a folder without junk. Add hidden answers and folders to `ignored`.

    macOS writes a file `._x.py` for every file `x.py`. The student did not mean this file, so it
    is not added to `ignored`.
    """
    visible: list[tuple[str, Path]] = []
    for name, path in entries:
        if not is_junk(name):
            visible.append((name, path))
        elif name in _SILENT_JUNK or name.startswith("._"):
            continue
        elif path.is_dir():
            reason = "hidden" if name.startswith(".") else "made by a tool"
            ignored.append(f"{place}{name}/ ({reason})")
        elif suffix(name) in ANSWER_SUFFIXES:
            ignored.append(f"{place}{name} (hidden)")
    return visible


def _without_common_folder(tree: Tree, expected: Collection[str], ignored: list[str]) -> Tree:
    """Return the only folder of an archive if it holds the whole class, otherwise the archive.

    Files next to that folder that lead out of the archive are added to `ignored`. Their names
    hold a slash.
    """
    hidden: list[str] = []
    entries = _visible(tree.entries(tree.root), "", hidden)
    outside = [tree.members[path].trouble for name, path in entries if "/" in name]
    inside = [(name, path) for name, path in entries if "/" not in name]
    if len(inside) != 1:
        return tree
    ((name, folder),) = inside
    if not folder.is_dir() or is_lms_name(name, True):
        return tree
    inner = _visible(tree.entries(folder), "", [])
    if not _holds_a_class([(name, path.is_dir()) for name, path in inner], expected):
        return tree
    ignored += [*hidden, *outside]
    return replace(tree, root=folder, place=f"{name}/")


def _holds_a_class(entries: list[tuple[str, bool]], expected: Collection[str]) -> bool:
    """Return whether a folder belongs to a class and not to one student.

    Args:
        entries: the names in the folder, each with True for a folder.
        expected: the file names that the challenges ask for.
    """
    if any(is_lms_name(*entry) for entry in entries):
        return True
    students = 0
    for name, is_folder in entries:
        if not is_folder and normalised_name(name) in expected:
            return False
        students += is_folder or suffix(name) in ANSWER_SUFFIXES
    return students > 1
