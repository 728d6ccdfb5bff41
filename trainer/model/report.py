"""What grading says of a submission: frozen records of checks, differences, where and why.

Apart from the other words, because commands that grade nothing do without them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from trainer.model.case import Case
from trainer.model.challenge import Mistake
from trainer.model.checks import CHECK_ORDER, Status, Verdict, status_of_each


@dataclass(frozen=True)
class Slice:
    """A few neighbouring entries along the last axis: yours beside expected. `wrong` marks those out of tolerance."""

    index: tuple[int, ...]
    actual: tuple[float, ...]
    expected: tuple[float, ...]
    wrong: tuple[bool, ...]


@dataclass(frozen=True)
class Affected:
    """Which indices of one named dimension hold a wrong entry, of how many."""

    dim: str
    size: int
    wrong: tuple[int, ...]


@dataclass(frozen=True)
class Summary:
    """Mean, standard deviation, least and greatest of a tensor's finite entries, and how many are not finite."""

    mean: float
    std: float
    low: float
    high: float
    not_finite: int


@dataclass(frozen=True)
class Mismatch:
    """How one tensor differs from what was expected."""

    tensor: str
    kind: Literal[
        "missing", "shape", "dtype", "device", "value", "type", "plain"
    ]  # the last two: outputs that are no tensors
    dims: str = ""
    expected_shape: tuple[int, ...] | None = None
    actual_shape: tuple[int, ...] | None = None
    expected_type: str | None = None
    actual_type: str | None = None
    mismatched: int | None = None
    total: int | None = None
    max_abs_error: float | None = None
    max_abs_error_index: tuple[int, ...] | None = None
    first: Slice | None = None
    worst: Slice | None = None
    affected: tuple[Affected, ...] = ()
    expected_summary: Summary | None = None
    actual_summary: Summary | None = None
    expected_value: str | None = None
    actual_value: str | None = None


@dataclass(frozen=True)
class Frame:
    """A place in the learner's own file."""

    line: int
    function: str
    text: str


@dataclass(frozen=True)
class Outcome:
    """What one check says of one case (or of the whole submission, where `case` is None)."""

    check: str
    status: Status
    message: str = ""
    case: str | None = None
    number: int | None = None  # the case's number for --case, from 1
    mismatch: Mismatch | None = None
    frames: tuple[Frame, ...] = ()


@dataclass(frozen=True)
class EffectiveMask:
    """Whom each query attends to: a row a query, `#` for a key that is attended to.

    what      the difference in words; "" where there is none
    item      the batch item that is shown
    actual    () where there is no difference
    """

    what: str
    item: int
    actual: tuple[str, ...]
    expected: tuple[str, ...]


@dataclass(frozen=True)
class Diagnosis:
    """Where a wrong answer went wrong, and why.

    mistakes       the known mistakes that give exactly this; () where none does
    first_line     the learner's line at which the computation left the right path, and in which case (from 1) that was seen
    last_reached   the reference's last named result that was made as well; first_missed: the first that was not
    made           what the line made, its shape with letters
    layout         in which way the result is the right one, or what the reference would have to be given to come to it, in words
    cleared        what the evidence rules out
    """

    mistakes: tuple[Mistake, ...] = ()
    first_line: Frame | None = None
    case: int | None = None
    last_reached: str | None = None
    first_missed: str | None = None
    made: str | None = None
    layout: str | None = None
    effective_mask: EffectiveMask | None = None
    cleared: tuple[str, ...] = ()


@dataclass(frozen=True)
class TraceRow:
    """What one line of the learner's file made at one moment.

    depth      how many calls of the file's own functions lie around it
    shape      with letters, e.g. "[B=2, H=4, L=7, D=5]"; "" where there is nothing to show
    low, high  of the finite entries
    milestone  the reference's named result that it equals, or ""
    """

    line: int
    text: str
    depth: int
    shape: str
    dtype: str
    low: float
    high: float
    not_finite: int
    milestone: str


@dataclass(frozen=True)
class Trace:
    """One case line by line. `failure`: the exception that ended it, or ""."""

    case: Case
    number: int
    seed: int
    rows: tuple[TraceRow, ...]
    failure: str = ""


@dataclass(frozen=True)
class Report:
    """Everything that is said of one submission; the display floor draws it and decides nothing.

    unfinished   why the file is no finished answer, e.g. "does not parse: line 12, invalid syntax"; "" if it is one
    """

    challenge: str
    file: str
    seed: int | None
    verdict: Verdict
    outcomes: tuple[Outcome, ...]
    cases: tuple[Case, ...] = ()
    stdout: str = ""
    elapsed_seconds: float = 0.0
    only_case: int | None = None
    notes: tuple[str, ...] = ()
    diagnosis: Diagnosis | None = None
    unfinished: str = ""

    def statuses(self) -> dict[str, Status]:
        """Return each check that was due, in order, with its status over all cases."""
        return status_of_each((outcome.check, outcome.status) for outcome in self.outcomes)

    def first_failure(self) -> Outcome | None:
        """The outcome to explain first, or None after a pass."""
        failed = [outcome for outcome in self.outcomes if outcome.status == "failed"]
        if self.verdict == "not-allowed":  # whatever else fails may be its consequence
            failed = [outcome for outcome in failed if outcome.check == "from scratch"] or failed
        return min(failed, key=lambda outcome: CHECK_ORDER.index(outcome.check), default=None)
