"""The items of a challenge that `pack check` checks, and the row that it prints for each item."""

from __future__ import annotations

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import count
from typing import Literal

from attn_drill.model.challenge import Challenge
from attn_drill.model.errors import PackError
from attn_drill.packs import pack_reader
from attn_drill.packs.mistakes import pairs_of, read_mistakes

Kind = Literal["content", "stub", "reference", "also right", "mistake", "pair"]
Item = tuple[Kind, str]
TEXTS: Item = ("content", "texts")
CASES: Item = ("content", "cases")
_AND = " and "  # between the ids of a pair
_SAMPLED = ("also right", "mistake", "pair")  # a quick check takes a sample of these


@dataclass(frozen=True)
class Row:
    """The result for one item."""

    challenge: str
    kind: Kind
    name: str
    problems: tuple[str, ...] = ()  # sentences with the file and the next step
    refused_by: tuple[str, ...] = ()  # the failed checks, if the item is one that must not pass

    @property
    def ok(self) -> bool:
        """True if there is no problem."""
        return not self.problems


def items(challenge: Challenge) -> list[Item]:
    """Return all items of a challenge, in the order of the rows of `pack check`."""
    all_items: list[Item] = [TEXTS, CASES, ("stub", "stub.py"), ("reference", "solution.py")]
    all_items += [("also right", path.name) for path in pack_reader.also_right(challenge)]
    with contextlib.suppress(PackError):  # the item TEXTS reports the error
        all_items += [("mistake", mistake.id) for mistake in read_mistakes(challenge)]
    return all_items


def pairs(challenge: Challenge) -> list[Item]:
    """Return an item for every pair of known mistakes in different statements of the reference."""
    both = pairs_of(pack_reader.solution(challenge), read_mistakes(challenge))
    return [("pair", f"{first.id}{_AND}{second.id}") for first, second in both]


def ids_of_pair(name: str) -> tuple[str, str]:
    """Return the ids of the two mistakes of an item.

    >>> ids_of_pair("no-scale and no-mask")
    ('no-scale', 'no-mask')
    """
    first, _, second = name.partition(_AND)
    return first, second


def sample_items(
    all_items: Mapping[Challenge, Sequence[Item]], every: int, first: int
) -> dict[Challenge, list[Item]]:
    """Return each `every`th of the mistakes, pairs and other right answers, and all other items.

    The items are counted over all challenges, so a challenge with few mistakes may have none in the
    sample. The index of the first item is `first`, modulo `every`.
    """
    places = count(-first)
    return {
        challenge: [item for item in some if item[0] not in _SAMPLED or next(places) % every == 0]
        for challenge, some in all_items.items()
    }
