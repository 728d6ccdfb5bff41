"""Unpack a zip into a temporary folder, within limits.

Trust nothing that an archive says about itself: no size, no count, no name. Refuse a bad member
alone and unpack the other members.
"""

from __future__ import annotations

import io
import os
import stat
import zipfile
import zlib
from collections import Counter
from collections.abc import Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from datetime import datetime
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory

from trainer.classroom.lms_names import is_receipt
from trainer.model.errors import DrillError
from trainer.practice.learner_files import MOST_SOURCE_BYTES

MOST_MEMBERS = 50_000  # files and folders
MOST_BYTES = 1 << 30  # of all files together, unpacked
MOST_CONTENTS_BYTES = 16 << 20  # of the table of contents, which zipfile reads in one piece
MOST_DEPTH = 100  # nested folders
HAND_IN_FILE = "Hand in the Python file itself."
PYTHON, NOTEBOOK = ".py", ".ipynb"
MOST_NOTEBOOK_BYTES = 8 << 20  # a notebook holds its plots

# The best ratio that deflate reaches. Above this ratio, members share their compressed bytes.
_DEFLATE_RATIO = 1032
_PIECE_BYTES = 1 << 16
_NESTED = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar")
_JUNK = frozenset(("__pycache__", "__MACOSX", "node_modules", "venv", "site-packages"))
_ENCRYPTED_FLAGS = 0x41
_UTF8_FLAG = 0x800
# All exceptions that zipfile raises for a broken archive. Some, like EOFError, have no text.
_BROKEN = (zipfile.BadZipFile, zlib.error, EOFError, RuntimeError, OverflowError, ValueError)


class FileError(DrillError):
    """Raised for a file that cannot be read. The other files can still be read."""


@dataclass(frozen=True)
class Member:
    """A file or folder of an archive, with the archive's own data about it.

    Attributes:
        name: the last part of its path, or the whole path if it leads out of the archive.
        trouble: the reason why the file is refused, in one sentence, or "".
        modified: seconds since the epoch, or None if the archive has no valid date.
        times: how many files of the archive have this path.
    """

    name: str
    trouble: str = ""
    modified: float | None = None
    times: int = 1


@dataclass(frozen=True)
class Tree:
    """A folder on the disk, or an unpacked archive.

    Attributes:
        root: the folder on the disk.
        place: the start of the paths that messages show for its files.
        members: the archive's data about each path. Empty for a folder on the disk.
        is_one_student: True if the whole tree comes from one student. Only then may links inside
            the tree be followed.
    """

    root: Path
    place: str = ""
    members: Mapping[Path, Member] = field(default_factory=dict)
    is_one_student: bool = False

    def entries(self, folder: Path, most: int | None = None) -> list[tuple[str, Path]]:
        """Return the names and paths of the entries of a folder, sorted by name.

        Args:
            folder: a folder of this tree.
            most: return at most this number of entries; None for all.

        Raises:
            OSError: the folder cannot be read.
        """
        with os.scandir(folder) as listing:
            paths = [Path(entry.path) for entry in islice(listing, most)]
        return sorted((self.members.get(path, Member(path.name)).name, path) for path in paths)


def is_junk(name: str) -> bool:
    """Return whether a file or folder is hidden or was made by a tool.

    A name that begins with `../` or `..\\` is not hidden: the file leads out of an archive.
    """
    return name in _JUNK or (name.startswith(".") and not name.startswith(("../", "..\\")))


def unpack(path: Path, name: str, place: str, stack: ExitStack) -> Tree:
    """Unpack a zip into a temporary folder. The folder is removed when `stack` is closed.

    Only Python files, notebooks and receipts keep their content. All other files become empty,
    because nobody reads them.

    Args:
        path: the zip.
        name: the name of the zip in messages.
        place: the start of the paths that messages show for the files in the zip.
        stack: the caller closes the stack after reading the files.

    Raises:
        DrillError: the file is not a zip, is broken as a whole or exceeds a limit, or the disk
            is full.
    """
    try:
        if not path.is_file():
            raise DrillError(f"{name} is not a regular file. Name a zip.")
        file = stack.enter_context(_BoundedFile(path))
        archive = zipfile.ZipFile(file)
    except (*_BROKEN, OSError) as error:
        raise DrillError(
            f"{name} cannot be read as a zip: {_reason(error)}. Download it again; it may be"
            " incomplete."
        ) from None
    try:
        root = Path(stack.enter_context(TemporaryDirectory(prefix="attn-drill-")))
        return Tree(root, place, _Unpacker(archive, name, path.stat().st_size, root).unpack())
    except OSError as error:
        raise DrillError(
            f"{name} cannot be unpacked: {error.strerror or error}. Free some space in the folder"
            " for temporary files, or set TMPDIR to another folder."
        ) from None


class _BoundedFile(io.FileIO):
    """A file that refuses to read too much at once.

    zipfile reads as many bytes in one piece as the archive claims.
    """

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > MOST_CONTENTS_BYTES:
            raise ValueError(
                f"its table of contents claims {size:,} bytes; at most {MOST_CONTENTS_BYTES:,}"
                " are read"
            )
        return super().read(size)


class _Unpacker:
    """Unpack one archive into the folder `root`.

    Files and folders on the disk have numbers as names, so no name of the archive becomes a path.
    Then names can have any length, and two names can differ only in capitals, on every file
    system.
    """

    def __init__(self, archive: zipfile.ZipFile, name: str, size: int, root: Path) -> None:
        self._archive = archive
        self._name = name
        self._size = size
        self._bytes = 0
        self._folders: dict[tuple[str, ...], Path] = {(): root}
        self._members: dict[Path, Member] = {}

    def unpack(self) -> dict[Path, Member]:
        """Unpack all members and return them by their path on the disk."""
        named = [(_name(info), info) for info in self._archive.infolist()]
        times = Counter(name for name, _ in named)
        for name, info in dict(named).items():
            *folders, last = [name] if _leads_outside(name) else name.split("/")
            above = tuple(folders[:MOST_DEPTH])
            if last:
                rest = "/".join((*folders[MOST_DEPTH:], last))
                self._add_file(above, rest, name, info, times[name])
            else:
                self._folder(above)
        return self._members

    def _add(self, above: tuple[str, ...], member: Member) -> Path:
        """Return a new path on the disk for a member."""
        folder = self._folder(above)
        if len(self._members) >= MOST_MEMBERS:
            raise DrillError(
                f"{self._name} holds more than {MOST_MEMBERS:,} files and folders. Split it."
            )
        path = folder / str(len(self._members))
        self._members[path] = member
        return path

    def _folder(self, parts: tuple[str, ...]) -> Path:
        if parts not in self._folders:
            self._folders[parts] = self._add(parts[:-1], Member(parts[-1]))
            self._folders[parts].mkdir()
        return self._folders[parts]

    def _add_file(
        self, above: tuple[str, ...], last: str, name: str, info: zipfile.ZipInfo, times: int
    ) -> None:
        why = _refusal(info, name)
        if times > 1:
            why = f"is {times} times in {self._name}, so it is not clear which file counts"
        trouble = f"{name} {why}. {HAND_IN_FILE}" if why else ""
        data = b""
        is_read = last.lower().endswith((PYTHON, NOTEBOOK)) or is_receipt(last)
        if is_read and not trouble and not any(map(is_junk, (*above, last))):
            try:
                data = self._read(name, info)
            except FileError as error:
                trouble = str(error)
        self._add(above, Member(last, trouble, _modified(info), times)).write_bytes(data)

    def _read(self, name: str, info: zipfile.ZipInfo) -> bytes:
        """Return the bytes of a member.

        Raises:
            FileError: the member is too large or damaged.
            DrillError: all members together are too large.
        """
        data = bytearray()
        most = most_bytes(name)
        try:
            with self._archive.open(info) as file:
                while len(data) <= most and (piece := file.read(_PIECE_BYTES)):
                    data += piece
                    self._count(len(piece))
        except (*_BROKEN, OSError) as error:
            raise self._damaged(name, _reason(error)) from None
        if len(data) > most:
            raise FileError(
                f"{name} in {self._name} unpacks to more than {most:,} bytes, the most"
                " that are graded. Is it the right file?"
            )
        if len(data) != info.file_size:
            raise self._damaged(name, f"it claims {info.file_size:,} bytes and has {len(data):,}")
        return bytes(data)

    def _damaged(self, name: str, why: str) -> FileError:
        return FileError(f"{name} in {self._name} is damaged: {why}. Hand it in again.")

    def _count(self, more: int) -> None:
        self._bytes += more
        most = min(MOST_BYTES, _DEFLATE_RATIO * self._size)
        if self._bytes > most:
            raise DrillError(
                f"{self._name} has {self._size:,} bytes and unpacks to more than {most:,}: it would"
                " fill the disk. Leave it out."
            )


def most_bytes(name: str) -> int:
    """Return the greatest size of a file that is read, by the ending of its name."""
    return MOST_NOTEBOOK_BYTES if name.lower().endswith(NOTEBOOK) else MOST_SOURCE_BYTES


def _reason(error: BaseException) -> str:
    """Return the text of an exception, shortened and without a full stop."""
    text = getattr(error, "strerror", None) or str(error) or type(error).__name__
    return str(text)[:200].rstrip(".")


def _name(info: zipfile.ZipInfo) -> str:
    """Return the path of a member, without needless dots and slashes.

    The path of a folder ends in a slash. A zip that does not name its encoding mostly uses UTF-8,
    otherwise code page 437.
    """
    name = info.orig_filename
    if not info.flag_bits & _UTF8_FLAG:
        with suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    if _leads_outside(name):
        return name
    *folders, last = name.split("/")
    parts = [part for part in folders if part not in ("", ".")]
    return "/".join((*parts, "" if last == "." else last))


def _leads_outside(name: str) -> bool:
    return name.startswith("/") or ".." in name.split("/")


def _refusal(info: zipfile.ZipInfo, name: str) -> str:
    """Return the reason why a member is not unpacked, or ""."""
    kind = stat.S_IFMT(info.external_attr >> 16)
    if _leads_outside(name) or name[1:2] == ":":
        return "leads out of the archive"
    if "\0" in name:
        return "has a NUL byte in its name"
    if "\\" in name:
        return "has a backslash in its name"
    if kind == stat.S_IFLNK:
        return "is a symbolic link, and links are not followed"
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "is not a regular file"
    if info.flag_bits & _ENCRYPTED_FLAGS:
        return "is encrypted"
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return f"is compressed by method {info.compress_type}; only 0 and 8 (deflate) are read"
    if name.lower().endswith(_NESTED):
        return "is an archive inside an archive"
    return ""


def _modified(info: zipfile.ZipInfo) -> float | None:
    try:
        return datetime(*info.date_time).timestamp()  # local time: a zip names no time zone
    except (ValueError, OverflowError, OSError):
        return None
