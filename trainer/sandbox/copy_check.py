"""Find out whether a worker can read a reference or its cases anywhere. The grader's side of `copies`."""

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

SECONDS = 60.0  # for the whole search in a worker; it takes less than one on most machines
_SECONDS_WHERE_NOTHING_IS_HIDDEN = 5.0

Ask = Callable[[Mapping[str, Any]], Any]


@dataclass(frozen=True)
class Copies:
    """What a worker can read of references and cases.

    originals   those in the packs themselves: nothing is hidden from a worker here
    found       copies in other places
    cut         whether the time was over before all was searched
    failed      whether a worker ended without an answer
    files       how many files the worker has looked at
    """

    originals: tuple[str, ...] = ()
    found: tuple[str, ...] = ()
    cut: bool = False
    failed: bool = False
    files: int = 0

    @property
    def none(self) -> bool:
        """Whether the search worked and a worker can read nothing of what was looked for."""
        return not (self.found or self.originals or self.failed)

    @property
    def sentence(self) -> str:
        """What a person can do about a copy; "" where none is found."""
        if not self.found:
            return ""
        more = f" and {len(self.found) - 1} more" if len(self.found) > 1 else ""
        return (
            f"A submission can read {self.found[0]}{more}, a copy of a reference or of its cases. "
            "Remove it, or install attn-drill in a fresh virtual environment."
        )


def find_copies(ask: Ask, hidden: Iterable[Path]) -> Copies:
    """Have a worker search all that it can list, and try all else that the grader finds for it.

    A worker that cannot list a folder may still read what is in it, by name. The grader therefore
    searches such folders itself, and the worker tries to open the copies that it has found there.

    Args:
        ask: puts one question of `copies.searched` to a fresh worker and returns the answer, or
            None if the worker ended without one.
        hidden: the folders that the workers must not see; those of packs are called `challenges`
            and `solutions`.
    """
    hidden = tuple(hidden)
    originals = [os.path.realpath(path) for path in _references(hidden)]
    wanted = list(dict.fromkeys(entry for path in originals for entry in _wanted_of(Path(path))))
    opened = ask({"open": originals})
    if opened is None:
        return Copies(failed=True)
    told = ask(
        {
            "wanted": msgspec.to_builtins(wanted),
            "known": originals,
            "starts": _near() if opened else [*_near(), *_everywhere(hidden)],
            "seconds": _SECONDS_WHERE_NOTHING_IS_HIDDEN if opened else SECONDS,
        }
    )
    if told is None:
        return Copies(tuple(opened[:MOST_FOUND]), failed=True)
    outcome = msgspec.convert(told, SearchResult)
    behind = _behind(outcome.blind, wanted, originals, hidden)
    tried = ask({"open": behind.found}) if behind.found else []
    found = dict.fromkeys([*outcome.found, *(tried or ())])
    return Copies(
        originals=tuple(opened[:MOST_FOUND]),
        found=tuple(found)[:MOST_FOUND],
        cut=outcome.cut or behind.cut,
        failed=tried is None,
        files=outcome.files,
    )


def _references(hidden: Iterable[Path]) -> list[Path]:
    """Return the references, other right answers and cases in the folders of packs."""
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
    """Return places to start from: what the engine takes for readable, and what others could be."""
    allowed = readable_files.readable_paths(hidden)
    homes = [str(Path.home()), os.getcwd(), str(Path(__file__).resolve().parents[2])]
    prefixes = [sys.prefix, sys.base_prefix, sys.exec_prefix, sys.base_exec_prefix]
    parents = {
        str(parent)
        for tree in readable_files.readable_trees(readable_files.site_folders())
        for parent in Path(tree).parents
    }
    return [*allowed, *prefixes, *homes, *sorted(parents, reverse=True), "/"]


def _behind(
    blind: Sequence[str], wanted: Sequence[Wanted], originals: Sequence[str], hidden: Iterable[Path]
) -> SearchResult:
    """Search, as the grader, the folders of the readable trees that a worker could not list."""
    trees = readable_files.readable_trees(readable_files.site_folders())
    inside = [
        path for path in blind if any(path == tree or path.startswith(f"{tree}/") for tree in trees)
    ]
    return Search(wanted, SECONDS, originals).through(inside, readable_files.readable_paths(hidden))
