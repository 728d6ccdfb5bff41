"""The words every other floor speaks: frozen records of what is asked, what happened and what is said of it.

Standard library only. Tensors appear as `object`, so that commands that need no torch never import it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

Status = Literal["passed", "failed", "skipped"]
Verdict = Literal["passed", "failed", "error", "timeout", "memory", "not-allowed"]
Kind = Literal["module", "function"]

# The checks in the order in which they are made and shown.
CHECK_ORDER = (
    "loads",
    "interface",
    "parameters",
    "runs",
    "shapes",
    "dtype",
    "values",
    "masks",
    "gradients",
    "train/eval",
    "properties",
    "bad sizes",
    "from scratch",
    "vectorised",
    "memory",
    "work",
)


class DrillError(Exception):
    """A sentence for the user: what is wrong, with both values, and what to do next. Exit code 2."""


class PackError(DrillError):
    """A pack's content is broken; the sentence names the file and the key."""


class GraderError(Exception):
    """The grader itself failed: no verdict on the submission can be given. Exit code 3."""


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
class Submission:
    """A learner's file: its name as a report shows it, and its text."""

    name: str
    source: str


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


@dataclass(frozen=True)
class Case:
    """One run of `drive`: what goes in, and what is known of what comes out. Made by a challenge's `cases.py`.

    inputs      what `drive` reads, by name: tensors (float64; the engine rounds them to `dtype`), numbers, None, tuples of those
    dims        the named dimensions of every output, e.g. {"out": "B L M"}; "(H D)" is one axis made of two
    plain       outputs that are no tensors, and their types, e.g. {"total": "int"}; compared exactly
    sizes       the value of every letter
    init        constructor arguments (challenges of kind "module")
    parameters  values for some of the module's parameters; the engine draws the others
    check       the check that answers for the values of this case
    gradients   whether gradients are compared
    constants   floating inputs that get no gradient and keep float32 (tables, say)
    layout      per input: "transposed", "strided" or "expanded" memory; the last axis has stride 1
    dropout     the outputs are attention weights under dropout of this probability
    probe       what is counted: "vectorised", "memory" (the largest tensor), "held" (all that is alive at once) or "work";
                `limit` bounds the last three, in entries or operations
    larger      the same case with larger sizes: the probes "vectorised" and "held" compare what is counted in both
    """

    name: str
    inputs: Mapping[str, object]
    dims: Mapping[str, str]
    sizes: Mapping[str, int]
    plain: Mapping[str, Literal["int", "str"]] = field(default_factory=dict)
    init: Mapping[str, object] = field(default_factory=dict)
    parameters: Mapping[str, object] = field(default_factory=dict)
    dtype: Literal["float32", "float64", "bfloat16"] = "float32"
    mode: Literal["eval", "train"] = "eval"
    check: Literal["values", "masks", "train/eval", "properties"] = "values"
    gradients: bool = True
    constants: frozenset[str] = frozenset()
    layout: Mapping[str, str] = field(default_factory=dict)
    dropout: float | None = None
    probe: Literal["vectorised", "memory", "held", "work"] | None = None
    limit: int | None = None
    larger: Case | None = None

    def output_shape(self, output: str) -> tuple[int, ...]:
        """The shape that the contract asks of `output`, from its named dimensions."""
        shape: list[int] = []
        for axis in axes(self.dims[output]):
            length = 1
            for letter in axis:
                length *= self.sizes[letter]
            shape.append(length)
        return tuple(shape)


@dataclass(frozen=True)
class Refusal:
    """Constructor arguments that must be refused with ValueError or AssertionError, and why, in words."""

    why: str
    init: Mapping[str, object]


def axes(dims: str) -> tuple[tuple[str, ...], ...]:
    """Split "B L (H D)" into (("B",), ("L",), ("H", "D"))."""
    found: list[tuple[str, ...]] = []
    group: list[str] | None = None
    for word in dims.replace("(", " ( ").replace(")", " ) ").split():
        if word == "(":
            group = []
        elif word == ")":
            found.append(tuple(group or ()))
            group = None
        elif group is not None:
            group.append(word)
        else:
            found.append((word,))
    return tuple(found)


def status_of_each(said: Iterable[tuple[str, Status]]) -> dict[str, Status]:
    """Return the status of every check over all that was said of it, in the order of `CHECK_ORDER`.

    A check is failed if any part of it failed. It is passed only if every part passed; a part that
    was not looked at makes it skipped.

    Args:
        said: pairs of check and status, one for each outcome.
    """
    found: dict[str, set[Status]] = {}
    for check, status in said:
        found.setdefault(check, set()).add(status)
    worst_first: tuple[Status, ...] = ("failed", "skipped", "passed")
    return {
        check: next(status for status in worst_first if status in found[check])
        for check in CHECK_ORDER
        if check in found
    }


@dataclass(frozen=True)
class Attempt:
    """One graded try, as the journal keeps it.

    checks     each check that was due, with its status
    seconds    at work since the stub was handed out, or None where it never was
    hints      the highest level of hint taken since then; solution: whether the reference was seen
    purpose    what it was for
    mistakes   ids of the known mistakes that were named; they may be told later than the verdict
    """

    challenge: str
    when: float
    seed: int
    verdict: Verdict
    checks_passed: int
    checks_total: int
    source: str
    checks: Mapping[str, Status] = field(default_factory=dict)
    seconds: float | None = None
    hints: int = 0
    solution: bool = False
    purpose: Literal["practice", "review", "interview", "hunt"] = "practice"
    mistakes: tuple[str, ...] = ()
