"""Search files for copies of references and of their cases, by content and not by name.

This search runs in the grader and in a confined worker. The request to a worker contains only
sizes and digests: the worker must not learn the texts from the request.
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
    """The fingerprint of a text that no worker may be able to read.

    Attributes:
        name: the name of the text's file, without `.py`.
        size: the size of the text in bytes.
        digest: the SHA-256 of the text's bytes.
        crc: the CRC-32 of the text's bytes, as archives store it.
        source: the source hash of the text's bytes, as compiled modules may store it.
        defines: a digest of the names that the text defines. It identifies the compiled form.
    """

    name: str
    size: int
    digest: str
    crc: int
    source: str
    defines: str


class SearchResult(msgspec.Struct, frozen=True):
    """The result of a search.

    Attributes:
        found: the paths of copies, at most a few; `archive!member` for a copy in an archive.
        blind: folders that exist and could not be listed.
        cut: True if the time was over before everything was searched.
        files: the count of files that were looked at.
    """

    found: list[str]
    blind: list[str]
    cut: bool
    files: int


def wanted_of(name: str, content: bytes) -> Iterator[Wanted]:
    """Yield the fingerprints of a text: unchanged, and with the line ends of other systems."""
    text = content.replace(b"\r\n", b"\n")
    if not text.strip():
        return  # an empty file gives nothing away, and every other empty file is equal to it
    try:
        defines = _defined(compile(text, name, "exec", dont_inherit=True))
    except (SyntaxError, ValueError):
        defines = ""
    for variant in dict.fromkeys((content, text, text.replace(b"\n", b"\r\n"))):
        digest, source = sha256(variant).hexdigest(), importlib.util.source_hash(variant).hex()
        yield Wanted(name, len(variant), digest, zlib.crc32(variant), source, defines)


def _defined(code: CodeType) -> str:
    """Return a digest of the functions and classes in compiled code, with their arguments.

    The digest does not change if the compiler left out assertions and docstrings.
    """
    names: list[str] = []
    unvisited = [code]
    while unvisited:
        part = unvisited.pop()
        if not part.co_name.startswith("<"):  # an assertion may contain a lambda
            arguments = part.co_varnames[: part.co_argcount + part.co_kwonlyargcount]
            names.append(f"{part.co_qualname} {arguments}")
        unvisited += [constant for constant in part.co_consts if isinstance(constant, CodeType)]
    return sha256("\n".join(sorted(names)).encode()).hexdigest()


def readable_files(paths: Iterable[str]) -> list[str]:
    """Return the files among `paths` that this process can open and read.

    Args:
        paths: paths of files, or `archive!member`. For a member the archive is opened.
    """
    found: list[str] = []
    for path in paths:
        with suppress(OSError), open(path.partition("!")[0], "rb") as file:
            file.read(1)
            found.append(path)
    return found


class Search:
    """A search for copies of texts.

    Args:
        wanted: the texts to look for.
        seconds: after this time the search ends and returns the copies found so far.
        known: the paths of the original texts, which are not copies.
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
        """Search all files at and below the start paths. Follow links.

        Args:
            starts: files and folders.
            skipped: files and folders that are not searched.
        """
        unvisited = deque(dict.fromkeys(os.path.realpath(start) for start in starts))
        seen = {os.path.realpath(path) for path in skipped}
        cut = False
        while unvisited and len(self._found) < MOST_FOUND and not cut:
            path = unvisited.popleft()
            if path in seen or path in _NOT_FILES:
                continue
            seen.add(path)
            if os.path.isdir(path):
                # Depth first: a tree is searched before the next start.
                unvisited.extendleft(self._folders_in(path))
            elif os.path.isfile(path):
                self._files += 1
                self._look_at(path, os.path.basename(path), os.stat(path).st_size)
            cut = time.monotonic() > self._deadline
        return SearchResult(list(self._found), self._blind, cut, self._files)

    def _folders_in(self, folder: str) -> list[str]:
        """Look at the files in a folder; return the folders and link targets to search next."""
        folders: list[str] = []
        try:
            with os.scandir(folder) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        folders.append(entry.path)
                    elif entry.is_symlink():
                        folders.append(os.path.realpath(entry.path))
                    elif entry.is_file(follow_symlinks=False):
                        self._files += 1
                        size = _size_of(entry)
                        if size in self._sizes or entry.name.endswith(_WITH_MORE_INSIDE):
                            self._look_at(entry.path, entry.name, size)
        except OSError:
            self._blind.append(folder)
        return folders

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
        # A descriptor is cheaper than a file object, and there are thousands of files.
        descriptor = os.open(path, os.O_RDONLY)
        try:
            header = os.read(descriptor, _HEADER_BYTES)
        finally:
            os.close(descriptor)
        return self._may_be_compiled(header) and self._is_compiled_here(
            header, _content(path)[_HEADER_BYTES:], name
        )

    def _may_be_compiled(self, header: bytes) -> bool:
        """Return True if a compiled module's header has the source size or the hash of a text."""
        if len(header) < _HEADER_BYTES:
            return False
        if header[4] & _HASH_BASED:
            return header[8:].hex() in self._sources
        return int.from_bytes(header[12:16], "little") in self._sizes

    def _is_compiled_here(self, header: bytes, body: bytes, name: str) -> bool:
        """Return True if a compiled module whose header fits is a copy.

        The header alone proves nothing if it has only a size: other sources have this size too.
        """
        if header[4] & _HASH_BASED:
            return True
        size = int.from_bytes(header[12:16], "little")
        if header[:4] != _MAGIC:  # by another version of Python: this one cannot load it
            return (size, name.partition(".")[0]) in self._named
        with suppress(ValueError, EOFError, TypeError):
            code = loads(body)
            return isinstance(code, CodeType) and (size, _defined(code)) in self._compiled
        return False

    def _look_into_zip(self, path: str) -> None:
        """Look at the list of an archive's members; read only members that are compiled modules."""
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


def run_search(request: Any) -> bytes:
    """Run, in a worker, the part of a search that the request names; return the result as JSON.

    Args:
        request: either {"open": paths}, to find out which of these files the worker can read, or
            {"wanted", "known", "starts", "seconds"}, to search.
    """
    if "open" in request:
        return msgspec.json.encode(readable_files(request["open"]))
    search = Search(
        msgspec.convert(request["wanted"], list[Wanted]), request["seconds"], request["known"]
    )
    return msgspec.json.encode(search.through(request["starts"]))
