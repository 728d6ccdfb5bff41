"""Find out if a worker can read a reference or its cases anywhere.

This is the grader's side of the self-test's trial `copies`. The worker's side is `copy_search`.
"""

from __future__ import annotations

import os
import site
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from trainer.sandbox import readable_files
from trainer.sandbox.copy_search import MOST_FOUND, Search, SearchResult, Wanted, wanted_of

SECONDS = 60.0  # for the whole search in a worker; on most machines it takes less than a second
_SECONDS_WHERE_NOTHING_IS_HIDDEN = 5.0

Ask = Callable[[Mapping[str, Any]], Any]


@dataclass(frozen=True)
class Copies:
    """The references and cases that a worker can read.

    Attributes:
        originals: the readable files in the packs themselves. If there are any, nothing is hidden
            from a worker on this machine.
        found: copies in other places.
        cut: True if the time was over before everything was searched.
        failed: True if a worker ended without an answer.
        files: the count of files that the worker has looked at.
    """

    originals: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    cut: bool = False
    failed: bool = False
    files: int = 0

    @property
    def none_readable(self) -> bool:
        """True if the search worked and a worker can read no reference and no cases."""
        return not (self.found or self.originals or self.failed)

    @property
    def sentence(self) -> str:
        """An instruction to remove the copy that was found; "" if none was found."""
        if not self.found:
            return ""
        more = f" and {len(self.found) - 1} more" if len(self.found) > 1 else ""
        return (
            f"A submission can read {self.found[0]}{more}, a copy of a reference or of its cases. "
            "Remove it, or install attn-drill in a fresh virtual environment."
        )


def find_copies(ask: Ask, hidden: Iterable[Path]) -> Copies:
    """Find the references and cases that a worker can read.

    A worker searches every folder that it can list. A worker that cannot list a folder may still
    read a file in this folder by its name. The grader therefore searches such folders itself, and
    a worker tries to open the copies that the grader has found there.

    Args:
        ask: sends one request for `copy_search.run_search` to a fresh worker and returns the
            answer, or None if the worker ended without an answer.
        hidden: the folders that the workers must not see. The folders of packs have the names
            `challenges` and `solutions`.
    """
    hidden = tuple(hidden)
    originals = [os.path.realpath(path) for path in _references(hidden)]
    wanted = list(dict.fromkeys(entry for path in originals for entry in _wanted_of(Path(path))))
    readable_originals = ask({"open": originals})
    if readable_originals is None:
        return Copies(failed=True)
    answer = ask(
        {
            "wanted": msgspec.to_builtins(wanted),
            "known": originals,
            "starts": _near() if readable_originals else [*_near(), *_everywhere(hidden)],
            "seconds": _SECONDS_WHERE_NOTHING_IS_HIDDEN if readable_originals else SECONDS,
        }
    )
    if answer is None:
        return Copies(tuple(readable_originals[:MOST_FOUND]), failed=True)
    worker_search = msgspec.convert(answer, SearchResult)
    grader_search = _search_unlistable(worker_search.blind, wanted, originals, hidden)
    opened_by_worker = ask({"open": grader_search.found}) if grader_search.found else []
    found = dict.fromkeys([*worker_search.found, *(opened_by_worker or ())])
    return Copies(
        originals=tuple(readable_originals[:MOST_FOUND]),
        found=tuple(found)[:MOST_FOUND],
        cut=worker_search.cut or grader_search.cut,
        failed=opened_by_worker is None,
        files=worker_search.files,
    )


def _references(hidden: Iterable[Path]) -> list[Path]:
    """Return the references, the other right answers and the cases in the folders of packs."""
    found: list[Path] = []
    for folder in hidden:
        if folder.name == "solutions":
            found += [*folder.glob("*/solution.py"), *folder.glob("*/also_right/*.py")]
        elif folder.name == "challenges":
            found += folder.glob("*/cases.py")
    return sorted(found)


def _wanted_of(path: Path) -> list[Wanted]:
    try:
        return list(wanted_of(path.stem, path.read_bytes()))
    except OSError:
        return []


def _near() -> list[str]:
    """Return the folders and archives from which Python imports."""
    sites = [*site.getsitepackages(), site.getusersitepackages()]
    return [
        path for path in dict.fromkeys([*readable_files.site_folders(), *sites, *sys.path]) if path
    ]


def _everywhere(hidden: Iterable[Path]) -> list[str]:
    """Return start folders: the paths that the engine makes readable, and others that might be."""
    allowed = readable_files.readable_paths(hidden)
    homes = [str(Path.home()), os.getcwd(), str(Path(__file__).resolve().parents[2])]
    prefixes = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix]
    parents_of_trees = {
        str(parent)
        for tree in readable_files.readable_trees(readable_files.site_folders())
        for parent in Path(tree).parents
    }
    return [*allowed, *prefixes, *homes, *sorted(parents_of_trees, reverse=True), "/"]


def _search_unlistable(
    blind: Sequence[str], wanted: Sequence[Wanted], originals: Sequence[str], hidden: Iterable[Path]
) -> SearchResult:
    """Search, in the grader, those folders of the readable trees that a worker could not list."""
    trees = readable_files.readable_trees(readable_files.site_folders())
    inside = [
        path for path in blind if any(path == tree or path.startswith(f"{tree}/") for tree in trees)
    ]
    return Search(wanted, SECONDS, originals).through(inside, readable_files.readable_paths(hidden))
