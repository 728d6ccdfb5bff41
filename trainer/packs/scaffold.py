"""A new pack: a project that can be installed, with one challenge that works and holds to the rules.

Its files lie in `template/`, each with `.template` behind its name, so that nothing takes them for code of this project.
"""

from __future__ import annotations

import contextlib
import keyword
import os
import re
import secrets
import shutil
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from trainer.model.errors import DrillError
from trainer.packs.pack_reader import challenge_folders, challenge_id

TEMPLATE = Path(__file__).resolve().parent / "template"
_SUFFIX = ".template"
_NAME = re.compile(r"[A-Za-z][A-Za-z0-9]*([-_][A-Za-z0-9]+)*")
_MOST_LETTERS = 64
# What an installed pack of this name would stand in the way of.
_TAKEN = {
    *keyword.kwlist,
    *sys.stdlib_module_names,
    "trainer",
    "challenges",
    "solutions",
    "torch",
    "numpy",
}


@dataclass(frozen=True)
class NewPack:
    """A pack that was written: its folder, and the id of its challenge."""

    folder: Path
    challenge: str


def scaffold(name: str, parent: Path) -> NewPack:
    """Write the pack `name` as a new folder in `parent`, which is made where it is not there; the whole pack or nothing.

    Raises:
        DrillError: where the name is none for a Python package, something of that name is there, or the folder cannot be written.
    """
    module = module_name(name)
    folder = parent / name
    if os.path.lexists(folder):
        raise DrillError(
            f"{folder} is already there and is left as it is. Choose another name, or another folder with --dir."
        )
    (first,) = challenge_folders(TEMPLATE)
    texts = dict(_filled({"name": name, "module": module, "id": challenge_id(first.name)}))
    unfinished = parent / f".{name}-{secrets.token_hex(4)}"
    try:
        for path, text in texts.items():
            (unfinished / path).parent.mkdir(parents=True, exist_ok=True)
            (unfinished / path).write_text(text, encoding="utf-8")
        unfinished.rename(folder)
    except OSError as error:
        raise DrillError(
            f"{folder} cannot be written: {error.strerror or error}. Choose another folder with --dir."
        ) from None
    finally:
        with contextlib.suppress(OSError):
            shutil.rmtree(unfinished)
    return NewPack(folder, challenge_id(first.name))


def module_name(name: str) -> str:
    """`my-pack` -> `my_pack`, the Python package of a pack with this name.

    Raises:
        DrillError: where it cannot be one.
    """
    if not _NAME.fullmatch(name) or len(name) > _MOST_LETTERS:
        raise DrillError(
            f"{name!r:.80} is no name for a pack: up to {_MOST_LETTERS} letters a-z, digits, and single hyphens between them, e.g. my-pack."
        )
    module = name.replace("-", "_").lower()
    if module in _TAKEN:
        raise DrillError(
            f"{name!r} is no name for a pack: Python or attn-drill has a module {module}, which it would hide. Choose another, e.g. my-{name}."
        )
    return module


def _filled(words: dict[str, str]) -> Iterator[tuple[Path, str]]:
    """Every file of the template: its place in the pack, and its text with these words in their places."""
    for path in sorted(TEMPLATE.rglob(f"*{_SUFFIX}")):
        place = (
            str(path.relative_to(TEMPLATE)).removesuffix(_SUFFIX).replace("MODULE", words["module"])
        )
        text = path.read_text(encoding="utf-8")
        for word, value in words.items():
            text = text.replace(f"{{{{{word}}}}}", value)
        yield Path(place), text
