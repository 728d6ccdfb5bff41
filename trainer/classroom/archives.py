"""Read a zip without unpacking it: one member at a time, into memory, and no more of it than may be.

Nothing that an archive says of itself is trusted: not how much a member unpacks to, not how long the table of contents is, not where a name leads.
What spoils one member spoils nothing else.
"""

from __future__ import annotations

import io
import os
import re
import stat
import zipfile
import zlib
from collections import Counter
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from types import TracebackType

from trainer.core.words import DrillError

MOST_MEMBERS = 50_000
MOST_BYTES = 4 << 30  # unpacked, of all members that are read
MOST_CONTENTS_BYTES = 16 << 20  # the table of contents, which zipfile reads in one piece
INSTEAD = "Hand in the Python file itself."
NESTED = (".zip", ".tar", ".gz", ".tgz", ".bz2", ".xz", ".7z", ".rar")

_DEFLATE = 1032  # to one is the most that deflate can do; what unpacks to more has members that lie over each other
_PIECE = 1 << 16
_ENCRYPTED = 0x41
_UTF8 = 0x800
# All that zipfile raises on archives that are no good. Members that ask for a password or a method it lacks are found before it is asked.
_BROKEN = (
    zipfile.BadZipFile,
    zipfile.LargeZipFile,
    zlib.error,
    EOFError,
    RuntimeError,
    OverflowError,
    ValueError,
    OSError,
)


class FileError(DrillError):
    """One file of many cannot be had; the others can."""


@dataclass(frozen=True)
class Member:
    """One entry of an archive.

    name       as the archive has it
    parts      its path, without `.`, `..`, drive and root
    modified   seconds since the epoch, where the archive has a date that exists
    trouble    why it is not read, in one sentence, or ""
    outside    whether its name leads out of the archive, so that `parts` says little
    times      how many entries of the archive have this name
    """

    name: str
    parts: tuple[str, ...]
    is_folder: bool
    modified: float | None
    trouble: str
    outside: bool
    info: zipfile.ZipInfo = field(repr=False, compare=False)
    times: int = 1


class Archive:
    """A zip that is open for reading.

    Args:
        path: where it is.
        name: what sentences call it.

    Raises:
        DrillError: where it is no zip, is cut off, or is out of all proportion.
    """

    def __init__(self, path: Path, name: str) -> None:
        self.name = name
        self._read = 0
        try:
            if not stat.S_ISREG(os.stat(path).st_mode):
                raise DrillError(f"{name} is not a regular file. Name a zip.")
            self._file = _Bounded(path)
        except OSError as error:
            raise DrillError(
                f"{name} cannot be read: {error.strerror or error}. Check its name and permissions."
            ) from None
        try:
            self._size = os.fstat(self._file.fileno()).st_size
            self._zip = zipfile.ZipFile(self._file)
            self.members = self._members()
        except _BROKEN as error:
            self._file.close()
            raise DrillError(
                f"{name} cannot be read as a zip: {_said(error)}. Download it again; it may have been cut off."
            ) from None
        except DrillError:
            self._file.close()
            raise

    def __enter__(self) -> Archive:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._zip.close()
        self._file.close()

    def _members(self) -> tuple[Member, ...]:
        infos = self._zip.infolist()
        if len(infos) > MOST_MEMBERS:
            raise DrillError(
                f"{self.name} has {len(infos):,} members; at most {MOST_MEMBERS:,} are looked at. Grade it in parts."
            )
        times = Counter(_name(info) for info in infos)
        return tuple(
            self._member(info, times[name])
            for name, info in {_name(info): info for info in infos}.items()
        )

    def _member(self, info: zipfile.ZipInfo, times: int) -> Member:
        name = _name(info)
        outside = _leads_outside(name)
        why = (
            f"stands {times} times in {self.name}: which of them is meant cannot be told"
            if times > 1
            else _refusal(info, name)
        )
        trouble = f"{name} {outside or why}. {INSTEAD}" if outside or why else ""
        return Member(
            name,
            _parts(name),
            name.endswith("/"),
            _modified(info),
            trouble,
            bool(outside),
            info,
            times,
        )

    def read(self, member: Member, most: int) -> bytes:
        """The bytes of a member.

        Args:
            member: one of `members`.
            most: how many bytes it may have.

        Raises:
            FileError: where it is refused, too large or damaged.
            DrillError: where the archive as a whole unpacks to more than it may or can.
        """
        if member.trouble:
            raise FileError(member.trouble)
        data = b""
        try:
            with self._zip.open(member.info) as file:
                while len(data) <= most and (piece := file.read(min(_PIECE, most + 1 - len(data)))):
                    data += piece
                    self._count(len(piece))
        except _BROKEN as error:
            raise FileError(
                f"{member.name} in {self.name} is damaged: {_said(error)}. Hand it in again."
            ) from None
        if len(data) > most:
            raise FileError(
                f"{member.name} in {self.name} unpacks to more than {most:,} bytes, the most that are graded. Is it the right file?"
            )
        if len(data) != member.info.file_size:
            raise FileError(
                f"{member.name} in {self.name} is damaged: it is said to have {member.info.file_size:,} bytes and has {len(data):,}. Hand it in again."
            )
        return data

    def _count(self, read: int) -> None:
        self._read += read
        most = min(MOST_BYTES, _DEFLATE * self._size)
        if self._read > most:
            raise DrillError(
                f"{self.name} has {self._size:,} bytes and unpacks to more than {most:,}: it is made to fill a machine. Leave it out."
            )


class _Bounded(io.FileIO):
    """A file that gives no more at once than a table of contents may have: zipfile asks for as much as the archive claims."""

    def read(self, size: int | None = -1, /) -> bytes:
        if size is not None and size > MOST_CONTENTS_BYTES:
            raise ValueError(
                f"its table of contents is said to have {size:,} bytes; at most {MOST_CONTENTS_BYTES:,} are read"
            )
        return super().read(size)


def _said(error: BaseException) -> str:
    """What an exception says, short and without a full stop."""
    return (str(error)[:200] or type(error).__name__).rstrip(".")


def _name(info: zipfile.ZipInfo) -> str:
    """The name as it was meant: zips that do not say how it is encoded mostly use UTF-8, and code page 437, as the format has it, where they do not."""
    name = info.orig_filename
    if not info.flag_bits & _UTF8:
        try:
            return name.encode("cp437").decode("utf-8")
        except UnicodeError:
            pass
    return name


def _parts(name: str) -> tuple[str, ...]:
    if _leads_outside(name):
        name = re.sub(r"^[A-Za-z]:", "", name).replace("\\", "/").replace("\0", "")
    return tuple(part for part in name.split("/") if part not in ("", ".", ".."))


def _leads_outside(name: str) -> str:
    """In which way a name is no path inside the archive, or ""."""
    if "\0" in name:
        return "has a NUL byte in its name"
    if "\\" in name:
        return "has a backslash in its name"
    if name.startswith("/") or re.match("[A-Za-z]:", name) or ".." in name.split("/"):
        return "leads out of the archive"
    return ""


def _refusal(info: zipfile.ZipInfo, name: str) -> str:
    """Why a member is not read, or ""."""
    kind = stat.S_IFMT(info.external_attr >> 16)
    if kind == stat.S_IFLNK:
        return "is a symbolic link, and links are not followed"
    if kind not in (0, stat.S_IFREG, stat.S_IFDIR):
        return "is not a regular file"
    if info.flag_bits & _ENCRYPTED:
        return "is encrypted"
    if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        return f"is compressed by method {info.compress_type}; only 0 (stored) and 8 (deflate) are read"
    if name.lower().endswith(NESTED):
        return "is an archive inside an archive"
    return ""


def _modified(info: zipfile.ZipInfo) -> float | None:
    try:
        return datetime(*info.date_time).timestamp()  # a zip has local time without saying whose
    except (ValueError, OverflowError, OSError):
        return None
