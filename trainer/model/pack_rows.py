"""The rows of `pack check`: one for each item of a challenge."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Kind = Literal["content", "stub", "reference", "also right", "style", "mistake"]
Item = tuple[Kind, str]


@dataclass(frozen=True)
class Row:
    """One checked item.

    refused_by  the checks that failed, for an item that must be refused
    """

    challenge: str
    kind: Kind
    name: str
    ok: bool
    message: str = ""
    refused_by: tuple[str, ...] = ()
