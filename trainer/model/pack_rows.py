"""The rows that `pack check` prints: one row for each item of a challenge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["content", "stub", "reference", "also right", "style", "mistake"]
Item = tuple[Kind, str]


@dataclass(frozen=True)
class Row:
    """The result for one item.

    Attributes:
        refused_by: the failed checks, if the item is one that must not pass.
    """

    challenge: str
    kind: Kind
    name: str
    ok: bool
    message: str = ""
    refused_by: tuple[str, ...] = ()
