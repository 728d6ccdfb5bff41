"""Find files in a pack that belong to no challenge, and folders without their partner folder.

Only the names of files and folders are used; no file is read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

_FOLDER = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_OF_A_CHALLENGE = re.compile(r"challenge\.toml|stub\.py|cases\.py|prompt(\.[a-z]{2})?\.md")
_OF_A_SOLUTION = re.compile(r"solution\.py|mistakes\.toml|follow_up\.toml")
_IGNORED = re.compile(r"\..*|__pycache__")


def strays(root: Path) -> list[str]:
    """Return a sentence for each misplaced file or folder of a pack."""
    challenges, solutions = root / "challenges", root / "solutions"
    found = [
        f"{root} has no folder {part.name}/."
        for part in (challenges, solutions)
        if not part.is_dir()
    ]
    for part, partner, pattern in (
        (challenges, solutions, _OF_A_CHALLENGE),
        (solutions, challenges, _OF_A_SOLUTION),
    ):
        for path in _entries(part):
            # An author may hide a folder with an underscore. The question bank is such a folder.
            if (path.name.startswith("_") and path.is_dir()) or path == challenges / "rules.toml":
                continue
            if not path.is_dir():
                found.append(
                    f"{path} is a file, but {part.name}/ must contain only folders. Move it away."
                )
                continue
            if not _FOLDER.fullmatch(path.name):
                found.append(
                    f"{path} has a name that no id can use. "
                    "Rename the folder with letters a-z, digits and single underscores."
                )
            if not (partner / path.name).is_dir():
                found.append(
                    f"{path} exists, but {partner.name}/{path.name} does not. "
                    "Add that folder, or remove this one."
                )
            found += _too_much(path, pattern)
    bank = challenges / "_questions"
    found += [
        f"{path} is not a file of the question bank: it must be called <topic>.toml. Move it away."
        for path in _entries(bank)
        if path.suffix != ".toml"
    ]
    return found


def _too_much(folder: Path, pattern: re.Pattern[str]) -> Iterator[str]:
    for path in _entries(folder):
        if path.name == "also_right" and path.is_dir() and pattern is _OF_A_SOLUTION:
            for other in _entries(path):
                if other.suffix != ".py" or not other.is_file():
                    yield (
                        f"{other} is not a Python file, but also_right/ must contain only Python "
                        "files. Move it away."
                    )
        elif not pattern.fullmatch(path.name) or not path.is_file():
            yield f"{path} is not used. Move it away."


def _entries(folder: Path) -> Iterable[Path]:
    """Return the entries of a folder, without files of editors, Python and version control."""
    return (
        sorted(path for path in folder.iterdir() if not _IGNORED.fullmatch(path.name))
        if folder.is_dir()
        else ()
    )
