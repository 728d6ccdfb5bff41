"""Search files for copies of references and of their cases, by content and not by name.

The same search runs in the grader and, confined, in a worker. A worker is told sizes and digests
alone: it must not learn from the question what it is to find.
"""

from __future__ import annotations

import importlib.util
import os
import tarfile
import time
import zipfile
import zlib
from collections import deque
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import suppress
from hashlib import sha256
from marshal import loads
from types import CodeType
from typing import Any

import msgspec

MOST_FOUND = 5  # enough for a person to act on
_MAGIC = importlib.util.MAGIC_NUMBER
_HEADER_BYTES = 16
_HASH_BASED = 1  # a flag in the header of a compiled module
_ZIPS = (".zip", ".whl", ".egg", ".pyz")
_TARS = (".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz")
_COMPILED = (".pyc", ".pyo")
_WITH_MORE_INSIDE = (*_COMPILED, *_ZIPS, *_TARS)
_MOST_TAR_BYTES = 16 << 20
_NOT_FILES = ("/proc", "/sys", "/dev")


class Wanted(msgspec.Struct, frozen=True):
    """One text that nobody may find.

    name        of its file, without `.py`
    size        in bytes
    digest      SHA-256 of its bytes
    crc         CRC-32 of its bytes, as archives have it
    source      the hash of its bytes, as compiled modules may have it
    defines     a digest of the names that it defines, by which its compiled form is known
    """

    name: str
    size: int
    digest: str
    crc: int
    source: str
    defines: str


class SearchResult(msgspec.Struct, frozen=True):
    """The result of a search.

    found   the paths of copies, `archive!member` for one in an archive; at most a few
    blind   folders that exist and could not be listed
    cut     whether the time was over before all was searched
    files   how many files were looked at
    """

    found: list[str]
    blind: list[str]
    cut: bool
    files: int


def wanted_of(name: str, content: bytes) -> Iterator[Wanted]:
    """Yield what a file's content is known by: as it is, and with the line ends of other systems."""
    text = content.replace(b"\r\n", b"\n")
    if not text.strip():
        return  # nothing is given away, and every empty file is equal to it
    try:
        defines = _defined(compile(text, name, "exec", dont_inherit=True))
    except (SyntaxError, ValueError):
        defines = ""
    for variant in dict.fromkeys((content, text, text.replace(b"\n", b"\r\n"))):
        digest, source = sha256(variant).hexdigest(), importlib.util.source_hash(variant).hex()
        yield Wanted(name, len(variant), digest, zlib.crc32(variant), source, defines)


def _defined(code: CodeType) -> str:
    """Return a digest of the functions and classes in compiled code, with their arguments.

    It is the same whether assertions and docstrings were left out.
    """
    names: list[str] = []
    waiting = [code]
    while waiting:
        part = waiting.pop()
        if not part.co_name.startswith("<"):  # lambdas may stand in an assertion
            names.append(
                f"{part.co_qualname} {part.co_varnames[: part.co_argcount + part.co_kwonlyargcount]}"
            )
        waiting += [constant for constant in part.co_consts if isinstance(constant, CodeType)]
    return sha256("\n".join(sorted(names)).encode()).hexdigest()


def readable_files(paths: Iterable[str]) -> list[str]:
    """Return those of these files that this process can open and read."""
    found: list[str] = []
    for path in paths:
        with suppress(OSError), open(path.partition("!")[0], "rb") as file:
            file.read(1)
            found.append(path)
    return found


class Search:
    """A search for copies of texts.

    Args:
        wanted: what is looked for.
        seconds: after this time the search ends with what it has.
        known: the paths of the texts themselves, which are no copies.
    """

    def __init__(
        self, wanted: Sequence[Wanted], seconds: float, known: Collection[str] = ()
    ) -> None:
        self._known = frozenset(known)
        self._digests = {entry.digest for entry in wanted}
        self._sizes = {entry.size for entry in wanted}
        self._crcs = {(entry.size, entry.crc) for entry in wanted}
        self._compiled = {(entry.size, entry.defines) for entry in wanted if entry.defines}
        self._sources = {entry.source for entry in wanted}
        self._named = {(entry.size, entry.name) for entry in wanted}
        self._deadline = time.monotonic() + seconds
        self._found: dict[str, None] = {}
        self._blind: list[str] = []
        self._files = 0

    def through(self, starts: Iterable[str], skipped: Collection[str] = ()) -> SearchResult:
        """Search all files at and below these places, links included; `skipped` are left out."""
        waiting = deque(dict.fromkeys(os.path.realpath(start) for start in starts))
        seen = {os.path.realpath(path) for path in skipped}
        cut = False
        while waiting and len(self._found) < MOST_FOUND and not cut:
            path = waiting.popleft()
            if path in seen or path in _NOT_FILES:
                continue
            seen.add(path)
            if os.path.isdir(path):
                # Depth first: a tree is searched before the next start.
                waiting.extendleft(self._folders_in(path))
            elif os.path.isfile(path):
                self._files += 1
                self._look_at(path, os.path.basename(path), os.stat(path).st_size)
            cut = time.monotonic() > self._deadline
        return SearchResult(list(self._found), self._blind, cut, self._files)

    def _folders_in(self, folder: str) -> list[str]:
        """Look at the files in a folder; return what is still to be searched."""
        found: list[str] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        found.append(entry.path)
                    elif entry.is_symlink():
                        found.append(os.path.realpath(entry.path))
                    elif entry.is_file(follow_symlinks=False):
                        self._files += 1
                        size = _size_of(entry)
                        if size in self._sizes or entry.name.endswith(_WITH_MORE_INSIDE):
                            self._look_at(entry.path, entry.name, size)
        except OSError:
            self._blind.append(folder)
        return found

    def _look_at(self, path: str, name: str, size: int) -> None:
        if path in self._known:
            return
        with suppress(OSError):
            if size in self._sizes and self._is_wanted(_content(path)):
                self._found[path] = None
            elif name.endswith(_COMPILED):
                if self._is_compiled(path, name):
                    self._found[path] = None
            elif name.endswith(_ZIPS):
                self._look_into_zip(path)
            elif name.endswith(_TARS) and size <= _MOST_TAR_BYTES:
                self._look_into_tar(path)

    def _is_wanted(self, content: bytes) -> bool:
        return sha256(content).hexdigest() in self._digests

    def _is_compiled(self, path: str, name: str) -> bool:
        descriptor = os.open(
            path, os.O_RDONLY
        )  # for thousands of files, cheaper than a file object
        try:
            header = os.read(descriptor, _HEADER_BYTES)
        finally:
            os.close(descriptor)
        return self._may_be_compiled(header) and self._is_compiled_here(
            header, _content(path)[_HEADER_BYTES:], name
        )

    def _may_be_compiled(self, header: bytes) -> bool:
        """Tell whether a compiled module's header fits: it has the size of the source, or a hash."""
        if len(header) < _HEADER_BYTES:
            return False
        if header[4] & _HASH_BASED:
            return header[8:].hex() in self._sources
        return int.from_bytes(header[12:16], "little") in self._sizes

    def _is_compiled_here(self, header: bytes, body: bytes, name: str) -> bool:
        """Tell whether a compiled module whose header fits is a copy: other sources have that size too."""
        if header[4] & _HASH_BASED:
            return True
        size = int.from_bytes(header[12:16], "little")
        if header[:4] != _MAGIC:  # of another Python, which cannot be read here
            return (size, name.partition(".")[0]) in self._named
        with suppress(ValueError, EOFError, TypeError):
            code = loads(body)
            return isinstance(code, CodeType) and (size, _defined(code)) in self._compiled
        return False

    def _look_into_zip(self, path: str) -> None:
        """Look at the list of what is in an archive; members are read only where they are compiled."""
        with (
            suppress(ValueError, NotImplementedError, RuntimeError, zipfile.BadZipFile, zlib.error),
            zipfile.ZipFile(path) as archive,
        ):
            for member in archive.infolist():
                name = os.path.basename(member.filename)
                if (member.file_size, member.CRC) in self._crcs or (
                    name.endswith(_COMPILED) and self._is_compiled_in(archive, member, name)
                ):
                    self._found[f"{path}!{member.filename}"] = None

    def _is_compiled_in(self, archive: zipfile.ZipFile, member: zipfile.ZipInfo, name: str) -> bool:
        with archive.open(member) as file:
            header = file.read(_HEADER_BYTES)
            return self._may_be_compiled(header) and self._is_compiled_here(
                header, file.read(), name
            )

    def _look_into_tar(self, path: str) -> None:
        with suppress(tarfile.TarError, EOFError, zlib.error), tarfile.open(path) as archive:
            for member in archive:
                if member.isfile() and member.size in self._sizes:
                    file = archive.extractfile(member)
                    if file is not None and self._is_wanted(file.read()):
                        self._found[f"{path}!{member.name}"] = None


def _size_of(entry: os.DirEntry[str]) -> int:
    try:
        return entry.stat(follow_symlinks=False).st_size
    except OSError:
        return -1


def _content(path: str) -> bytes:
    with open(path, "rb") as file:
        return file.read()


def searched(asked: Any) -> bytes:
    """Carry out, in a worker, the part of a search that it is asked for; the result as JSON."""
    if "open" in asked:
        return msgspec.json.encode(readable_files(asked["open"]))
    search = Search(
        msgspec.convert(asked["wanted"], list[Wanted]), asked["seconds"], asked["known"]
    )
    return msgspec.json.encode(search.through(asked["starts"]))
