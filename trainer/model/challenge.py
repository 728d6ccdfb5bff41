"""A challenge of a pack, its interface, and its known mistakes."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

Kind = Literal["module", "function"]


@dataclass(frozen=True)
class Parameter:
    """One argument of a callable: its name, and its default as a literal where it has one."""

    name: str
    required: bool = True
    default: object = None


@dataclass(frozen=True)
class Signature:
    """What the contract says of one callable, e.g. `GroupedQueryAttention.forward`; `self` is left out."""

    name: str
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True)
class Mistake:
    """A known mistake, as a patch of the reference: replace `was` (found exactly once) with `now`.

    `twins`: ids of mistakes further up that have the same effect, so that either may be named.
    """

    id: str
    was: str
    now: str
    says: str
    hint: str
    twins: tuple[str, ...] = ()


@dataclass(frozen=True)
class Challenge:
    """One challenge of a pack: what its folder under `challenges/` says. `topic`: the file of the question bank that it belongs to."""

    id: str
    title: str
    level: Literal["easy", "medium", "hard"]
    minutes: int
    kind: Kind
    entry: tuple[str, ...]
    builds_on: tuple[str, ...]
    hints: tuple[str, str, str]
    folder: Path
    solutions: Path
    topic: str = "other"

    @property
    def file_name(self) -> str:
        """The name of the learner's file, e.g. `kv_cache.py`."""
        return f"{self.folder.name}.py"
