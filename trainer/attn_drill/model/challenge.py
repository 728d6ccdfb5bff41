"""Challenges, the submissions that answer them with their limits, and right answers."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

# "module": a class derived from nn.Module, and perhaps functions after it. "function": functions.
# "class": another class.
Kind = Literal["module", "function", "class"]
Asked = Literal["often", "sometimes", "rarely"]
ASKED: tuple[Asked, ...] = ("often", "sometimes", "rarely")
SLEEP_FACTOR = 4  # a worker may wait for this many times its limit of CPU seconds


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

    def in_python(self) -> str:
        """Return the call as Python text.

        >>> Signature("f", (Parameter("x"), Parameter("mask", required=False))).in_python()
        'f(x, mask=None)'
        """
        arguments = [
            argument.name if argument.required else f"{argument.name}={argument.default!r}"
            for argument in self.parameters
        ]
        return f"{self.name}({', '.join(arguments)})"


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
    # Ids of the challenges that follow in a debugging round, in order.
    continued_by: tuple[str, ...] = ()

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


@dataclass(frozen=True)
class Limits:
    """The limits of one run of a worker."""

    # CPU seconds of all threads of the worker. Other load on the machine does not count.
    seconds: float = 10.0
    memory_mib: int = 2048  # beyond the memory of torch itself

    @property
    def memory_bytes(self) -> int:
        """The limit of memory, as the kernel takes it."""
        return self.memory_mib << 20


DEFAULT_LIMITS = Limits()


@dataclass(frozen=True)
class CallCost:
    """The cost of one call of realistic size."""

    operations: int  # without views
    multiply_adds: int
    peak_bytes: int  # the most bytes of new tensors that are in use at once


@dataclass(frozen=True)
class OtherAnswer:
    """A right answer of the pack."""

    name: str  # "reference", or the name of its file without the suffix
    does: str  # the difference to the reference, in a sentence; "" for the reference
    costs: str  # its price, in words; "" for the reference
    source: str
    cost: CallCost | None = None  # None if it could not be measured
