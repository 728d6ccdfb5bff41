"""What lies in a pack and belongs to no challenge, and folders without their partner. Names alone are looked at; nothing is read."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

_FOLDER = re.compile(r"[a-z][a-z0-9]*(_[a-z0-9]+)*")
_OF_A_CHALLENGE = re.compile(r"challenge\.toml|stub\.py|cases\.py|prompt(\.[a-z]{2})?\.md")
_OF_A_SOLUTION = re.compile(r"solution\.py|mistakes\.toml")
_IGNORED = re.compile(r"\..*|__pycache__")


def strays(root: Path) -> list[str]:
    """What is wrong with the files and folders of a pack, a sentence each; [] where every folder has its partner, and every file its use."""
    asked, right = root / "challenges", root / "solutions"
    found = [f"{root} has no folder {part.name}/." for part in (asked, right) if not part.is_dir()]
    for part, partner, pattern in ((asked, right, _OF_A_CHALLENGE), (right, asked, _OF_A_SOLUTION)):
        for path in _entries(part):
            if (
                path.name.startswith("_") and path.is_dir()
            ):  # left out on purpose; the question bank
                continue
            if not path.is_dir():
                found.append(f"{path} is a file, and {part.name}/ holds folders. Move it away.")
                continue
            if not _FOLDER.fullmatch(path.name):
                found.append(
                    f"{path} is no name for a folder here: letters a-z, digits and single underscores. Rename it."
                )
            if not (partner / path.name).is_dir():
                found.append(
                    f"{path} has no {partner.name}/{path.name} beside it. Add that folder, or remove this one."
                )
            found += _too_much(path, pattern)
    bank = asked / "_questions"
    found += [
        f"{path} is no file of the question bank, which are called <topic>.toml. Move it away."
        for path in _entries(bank)
        if path.suffix != ".toml"
    ]
    return found


def _too_much(folder: Path, pattern: re.Pattern[str]) -> Iterator[str]:
    for path in _entries(folder):
        if path.name == "also_right" and path.is_dir() and pattern is _OF_A_SOLUTION:
            for other in _entries(path):
                if other.suffix != ".py" or not other.is_file():
                    yield f"{other} is no Python file, and also_right/ holds nothing else. Move it away."
        elif not pattern.fullmatch(path.name) or not path.is_file():
            yield f"{path} is not used by anything. Move it away."


def _entries(folder: Path) -> Iterable[Path]:
    """What lies in a folder, without what editors, Python and version control leave there."""
    return (
        sorted(path for path in folder.iterdir() if not _IGNORED.fullmatch(path.name))
        if folder.is_dir()
        else ()
    )
