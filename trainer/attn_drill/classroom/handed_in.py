"""Find the files that students handed in. A folder and a zip look alike, and nothing is unpacked.

A file is read in memory, up to a limit. No link is followed, and a zip is trusted in nothing: no
size, no path. A file that cannot be read costs only its own student.
"""

from __future__ import annotations

import io
import os
import re
import stat
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from datetime import datetime
from functools import partial
from itertools import islice
from pathlib import Path
from typing import IO

from attn_drill.model.errors import DrillError
from attn_drill.practice.learner_files import MOST_SOURCE_BYTES
from attn_drill.practice.notebook_file import MOST_NOTEBOOK_BYTES

PYTHON, NOTEBOOK, ZIP = ".py", ".ipynb", ".zip"
MOST_FILES = 100_000  # of a class, or in the zip of a student
MOST_BYTES = {NOTEBOOK: MOST_NOTEBOOK_BYTES, ZIP: 32 << 20}  # by suffix
LAYOUTS = (
    "Name a folder with DIR/<student>.py or DIR/<student>/<any>.py, or the .zip of a learning"
    " management system."
)

_JUNK = frozenset(("__pycache__", "__MACOSX", "node_modules", "venv", "site-packages"))
_UTF8_FLAG = 0x800
# Everything that zipfile raises for a broken or encrypted archive. Some have no text.
_BROKEN = (
    *(zipfile.BadZipFile, zlib.error, EOFError, OSError),
    *(RuntimeError, ValueError, OverflowError, MemoryError),
)


@dataclass(frozen=True)
class HandedIn:
    """A file that somebody handed in."""

    path: str  # in the folder or in the zip, as messages show it
    open: Callable[[], IO[bytes]]
    # The time in the zip of the class, in seconds since the epoch. The time of a file on the disk
    # does not count, because every copy changes it.
    modified: float | None = None
    problem: str = ""  # the reason why the file cannot be read, in one sentence

    @property
    def suffix(self) -> str:
        """The ending of the path in lower case, for example ".py"."""
        return os.path.splitext(self.path)[1].lower()

    def read(self) -> bytes:
        """Return the content, or raise DrillError if it cannot be read or is too large."""
        if self.problem:
            raise DrillError(self.problem)
        most = MOST_BYTES.get(self.suffix, MOST_SOURCE_BYTES)
        with _reading(self.path), self.open() as file:
            data = file.read(most + 1)
        if len(data) > most:
            raise DrillError(
                f"{self.path} has more than {most:,} bytes, the most that are read. Is it the right"
                " file?"
            )
        return data


def files_in(place: Path) -> list[HandedIn]:
    """Return all files in a folder or in a zip, sorted by path, without hidden files.

    Raise DrillError if the folder or the zip as a whole cannot be read.
    """
    name = shown(str(place))
    with _reading(name, LAYOUTS):
        if place.is_dir():
            return _sorted(_files_of_folder(place), name)
        if place.suffix.lower() == ZIP and place.is_file():
            return _sorted(_files_of_zip(zipfile.ZipFile(place), ""), name)
    raise DrillError(f"There is no folder or .zip {name}. {LAYOUTS}")


def single_file(path: Path, name: str = "") -> HandedIn:
    """Return a file on the disk under a name, by default its own."""
    return HandedIn(shown(name or path.name), lambda: path.open("rb"))


def inside(zipped: HandedIn) -> list[HandedIn]:
    """Return the files in the zip of a student; the zip itself with its problem if it is broken.

    The student's computer wrote the times in the zip, so only the time of the zip itself counts.
    """
    try:
        data = zipped.read()
        if data.count(b"PK\1\2") > MOST_FILES:  # the marks of its table of contents
            raise DrillError(f"{zipped.path} holds too many files.")
        with _reading(zipped.path):
            archive = zipfile.ZipFile(io.BytesIO(data))
            files = _sorted(_files_of_zip(archive, f"{zipped.path}/"), zipped.path)
    except DrillError as error:
        return [replace(zipped, problem=str(error))]
    return [replace(file, modified=zipped.modified) for file in files]


def shown(text: str) -> str:
    """Return a name as messages and results hold it: bytes that are not UTF-8 become U+FFFD.

    >>> shown("a\\udcff")
    'a\ufffd'
    """
    return re.sub("[\0\ud800-\udfff]", "\ufffd", text)


def is_outside(path: str) -> bool:
    """Return whether the path of a member leads out of its archive.

    >>> is_outside("a/../../b.py"), is_outside("a..b.py")
    (True, False)
    """
    return path.startswith("/") or ".." in path.split("/") or path[1:2] == ":"


@contextmanager
def _reading(name: str, next_step: str = "") -> Iterator[None]:
    """Make one sentence of everything that zipfile and the system raise for an unreadable file."""
    try:
        yield
    except _BROKEN as error:
        reason = shown(str(error) or type(error).__name__)[:200].rstrip(".")
        raise DrillError(f"{name} cannot be read: {reason}. {next_step}".rstrip()) from None


def _sorted(files: Iterator[HandedIn], name: str) -> list[HandedIn]:
    first = list(islice(files, MOST_FILES + 1))
    if len(first) > MOST_FILES:
        raise DrillError(f"{name} holds more than {MOST_FILES:,} files. Leave some of them out.")
    return sorted(first, key=lambda file: file.path)


def _is_junk(name: str) -> bool:
    """Return whether a file or folder is hidden or was made by a tool, so nobody handed it in."""
    return name in _JUNK or name.startswith(".")


def _files_of_folder(folder: Path) -> Iterator[HandedIn]:
    for place, folders, names in os.walk(folder, onerror=_refuse):
        folders[:] = [name for name in folders if not _is_junk(name)]
        for name in (*folders, *names):
            path = Path(place, name)
            mode = path.lstat().st_mode
            if _is_junk(name) or stat.S_ISDIR(mode):
                continue
            file = single_file(path, path.relative_to(folder).as_posix())
            problem = f"{file.path} is a link or no regular file. Hand in the file itself."
            yield file if stat.S_ISREG(mode) else replace(file, problem=problem)


def _refuse(error: OSError) -> None:
    raise error


def _files_of_zip(archive: zipfile.ZipFile, above: str) -> Iterator[HandedIn]:
    for info in archive.infolist():
        path = _name(info)
        parts = [part for part in path.split("/") if part not in ("", ".")]
        problem = ""
        if is_outside(path):
            problem = f"{above}{path} leads out of the archive."
        elif path.endswith("/") or any(map(_is_junk, parts)):
            continue
        else:
            path = "/".join(parts)
        # Other methods have no limit on what they unpack at once.
        if info.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
            problem = f"{above}{path} is compressed by a method that is not read. Use a plain zip."
        yield HandedIn(above + path, partial(archive.open, info), _modified(info), problem)


def _name(info: zipfile.ZipInfo) -> str:
    name = info.filename
    # A zip that does not name its encoding mostly uses UTF-8, otherwise code page 437.
    if not info.flag_bits & _UTF8_FLAG:
        with suppress(UnicodeError):
            name = name.encode("cp437").decode("utf-8")
    return name.replace("\\", "/")  # some tools of Windows write backslashes


def _modified(info: zipfile.ZipInfo) -> float | None:
    try:
        return datetime(*info.date_time).timestamp()  # local time: a zip names no time zone
    except (ValueError, OverflowError, OSError):
        return None
