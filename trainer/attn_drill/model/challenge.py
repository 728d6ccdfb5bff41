"""Challenges, and the submissions that answer them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

# "module": a class derived from nn.Module, and perhaps functions after it. "function": functions.
# "class": another class.
Kind = Literal["module", "function", "class"]
Asked = Literal["often", "sometimes", "rarely"]
ASKED: tuple[Asked, ...] = ("often", "sometimes", "rarely")


@dataclass(frozen=True, repr=False)
class Expression:
    """A default that is no literal, as Python text: `torch.float32`."""

    text: str

    def __repr__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Parameter:
    """One argument of a callable."""

    name: str
    required: bool = True
    default: object = None  # of an optional argument: a literal or an `Expression`

    @property
    def has_known_default(self) -> bool:
        """True if there is a default, and it is a value and not an expression."""
        return not self.required and not isinstance(self.default, Expression)


@dataclass(frozen=True)
class Signature:
    """The name and the arguments of a callable."""

    name: str
    parameters: tuple[Parameter, ...]  # without `self`


@dataclass(frozen=True)
class Mistake:
    """A known mistake, as a patch of the reference."""

    id: str
    was: str  # the text to replace; the reference contains it exactly once
    now: str  # the replacement
    says: str  # the mistake in one sentence
    hint: str  # a question or sentence that leads to the repair
    # Ids of earlier mistakes in the file that have the same effect. A diagnosis may name either of
    # them.
    twins: tuple[str, ...] = ()
    # True if no person would write the line, for example `if False:`. A reader finds it without any
    # thought about attention, so it is for the diagnosis only.
    contrived: bool = False


@dataclass(frozen=True)
class Challenge:
    """One challenge of a pack."""

    id: str
    title: str
    level: Literal["easy", "medium", "hard"]
    minutes: int
    kind: Kind
    entry: tuple[str, ...]  # the names that the learner's file must define
    builds_on: tuple[str, ...]  # ids of challenges to solve first
    hints: tuple[str, str, str]  # three hints; each reveals more than the one before
    folder: Path  # in `challenges/`
    solutions: Path  # in `solutions/`
    topic: str = "other"  # the name of its file in the question bank
    asked: Asked = "sometimes"  # how often interviews ask for it
    # Names of operations of torch that a submission must not call, for example "torch.cumsum". The
    # library's attention is forbidden in every challenge.
    forbids: tuple[str, ...] = ()
    # Pairs of parameters that a submission may make one tensor. The reference then does so, too.
    ties: tuple[tuple[str, str], ...] = ()
    # A word for what each name of `entry` does, for example "loss"; () if bug hunts do not tell the
    # parts apart.
    parts: tuple[str, ...] = ()
    rules: tuple[str, ...] = ()  # names of the usual rules that the task prints under its table

    @property
    def rank(self) -> int:
        """The place of `asked` in `ASKED`: the smaller, the more often interviews ask for it."""
        return ASKED.index(self.asked)

    @property
    def file_name(self) -> str:
        """The default name of the learner's file, e.g. `kv_cache.py`."""
        return f"{self.folder.name}.py"


@dataclass(frozen=True)
class Submission:
    """A learner's file."""

    name: str  # the file name that a report shows
    source: str
