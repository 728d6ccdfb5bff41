"""The items of a challenge that `pack check` looks at."""

from __future__ import annotations

import contextlib
from collections.abc import Sequence

from trainer.model.challenge import Challenge
from trainer.model.errors import PackError
from trainer.model.pack_rows import Item
from trainer.packs import pack_reader
from trainer.packs.mistakes import read_mistakes, read_styles


def items(challenge: Challenge) -> list[Item]:
    """Return everything of a challenge that is to be checked, in the order of the rows."""
    found: list[Item] = [
        ("content", "prompt, hints, cases"),
        ("stub", "stub.py"),
        ("reference", "solution.py"),
    ]
    found += [("also right", path.name) for path in pack_reader.also_right(challenge)]
    with contextlib.suppress(PackError):  # the first item reports it
        found += [("style", style.id) for style in read_styles(challenge)]
        found += [("mistake", mistake.id) for mistake in read_mistakes(challenge)]
    return found


def some_of(found: Sequence[Item], every: int, first: int) -> list[Item]:
    """Return all items that are no mistakes, and of the mistakes every so many-th.

    Args:
        first: the place of the first of these mistakes, modulo `every`.
    """
    mistakes = [item for item in found if item[0] == "mistake"]
    others = [item for item in found if item[0] != "mistake"]
    return others + mistakes[first % every :: every]
