"""Let a worker import from folders that it cannot list.

A folder with a hidden entry is split: a worker may read the other entries, but it cannot list the
folder. Python's own finders list a folder again whenever its modification time changes, for example
because a package is installed meanwhile. In a worker the new listing fails, and then no further
module of this folder would be found. The finders of this module keep the names that the folder had
before the worker was confined.

Source of the interfaces: https://docs.python.org/3/library/importlib.html
"""

from __future__ import annotations

import importlib.metadata
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from importlib.machinery import (
    BYTECODE_SUFFIXES,
    EXTENSION_SUFFIXES,
    SOURCE_SUFFIXES,
    ModuleSpec,
)
from importlib.util import spec_from_file_location
from pathlib import Path
from types import ModuleType

_METADATA = (".dist-info", ".egg-info")
# In the order of Python's own finders, in case a folder has a module in several forms.
_SUFFIXES = (*EXTENSION_SUFFIXES, *SOURCE_SUFFIXES, *BYTECODE_SUFFIXES)


def remember_names(readable: Iterable[str]) -> None:
    """Keep the names in each import folder that is split, for the workers forked later.

    Args:
        readable: the files and folders that a worker may read, as `readable_paths` returns them.
    """
    readable = set(readable)
    names: dict[str, list[str]] = {}
    for path in readable:
        folder, name = os.path.split(path)
        names.setdefault(folder, []).append(name)
    import_folders = [(path, os.path.realpath(path)) for path in sys.path]
    metadata: dict[str, list[Path]] = {}
    for folder, entries in names.items():
        if not readable.isdisjoint((folder, *map(str, Path(folder).parents))):
            continue  # readable completely, so it can be listed
        spellings = [path for path, real in import_folders if real == folder]
        if any(folder.startswith(f"{real}/") for _, real in import_folders):
            spellings.append(folder)
        for path in spellings:
            sys.path_importer_cache[path] = _Finder(path, entries)
            metadata[path] = [Path(path, name) for name in entries if name.endswith(_METADATA)]
    sys.meta_path.append(_MetadataFinder(metadata))


class _Finder:
    """A path entry finder that knows the names in its folder and never lists it.

    Args:
        folder: the folder.
        names: the names in the folder that a worker may read.
    """

    def __init__(self, folder: str, names: Iterable[str]) -> None:
        self._folder = folder
        self._names = frozenset(names)

    def find_spec(self, fullname: str, target: ModuleType | None = None) -> ModuleSpec | None:
        """Return the spec of a module in this folder, or None if it is not here."""
        name = fullname.rpartition(".")[2]
        inner = os.path.join(self._folder, name)
        is_folder = os.path.isdir(inner)
        if is_folder:
            for suffix in _SUFFIXES:
                path = os.path.join(inner, f"__init__{suffix}")
                if os.path.isfile(path):
                    return spec_from_file_location(
                        fullname, path, submodule_search_locations=[inner]
                    )
        for suffix in _SUFFIXES:
            if f"{name}{suffix}" in self._names:
                return spec_from_file_location(fullname, f"{inner}{suffix}")
        if not is_folder:
            return None
        spec = ModuleSpec(fullname, None, is_package=True)  # a part of a namespace package
        spec.submodule_search_locations = [inner]
        return spec

    def invalidate_caches(self) -> None:
        """Do nothing: a new listing would fail."""


class _MetadataFinder(importlib.metadata.DistributionFinder):
    """A finder that finds no modules, but the metadata of the packages in split folders.

    Args:
        metadata: by folder, the paths of the packages' metadata.
    """

    def __init__(self, metadata: dict[str, list[Path]]) -> None:
        self._metadata = metadata

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> None:
        """Find nothing."""

    def find_distributions(
        self, context: importlib.metadata.DistributionFinder.Context | None = None
    ) -> Iterator[importlib.metadata.Distribution]:
        """Yield the distributions in the split folders that the context asks for."""
        if context is None:
            context = self.Context()
        for folder in context.path:
            for path in self._metadata.get(folder, ()):
                name = path.name.rpartition(".")[0].partition("-")[0]
                if context.name is None or _normalized(name) == _normalized(context.name):
                    yield importlib.metadata.PathDistribution(path)


def _normalized(name: str) -> str:
    return name.lower().replace("-", "_").replace(".", "_")
