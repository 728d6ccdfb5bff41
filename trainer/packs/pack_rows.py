"""The rows that `pack check` prints: one row for each item of a challenge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["content", "stub", "reference", "also right", "mistake", "pair"]
Item = tuple[Kind, str]
_AND = " and "  # between the ids of a pair


@dataclass(frozen=True)
class Row:
    """The result for one item."""

    challenge: str
    kind: Kind
    name: str
    ok: bool
    message: str = ""
    refused_by: tuple[str, ...] = ()  # the failed checks, if the item is one that must not pass


def pair_name(first: str, second: str) -> str:
    """Return the name of the item of two mistakes."""
    return first + _AND + second


def ids_of_pair(name: str) -> tuple[str, str]:
    """Return the ids of the two mistakes of an item."""
    first, _, second = name.partition(_AND)
    return first, second
