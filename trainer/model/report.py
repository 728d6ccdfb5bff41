"""The report on a submission: frozen records of checks, differences and the diagnosis.

Commands that do not grade do not need to import this module.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from trainer.model.case import Case
from trainer.model.challenge import Mistake
from trainer.model.checks import CHECK_ORDER, Status, Verdict, status_of_each


@dataclass(frozen=True)
class Slice:
    """A few neighbouring entries along the last axis of a tensor.

    Attributes:
        index: the index of the first entry.
        actual: entries of the submission's tensor.
        expected: entries of the reference's tensor.
        wrong: for each entry, True if it is out of tolerance.
    """

    index: tuple[int, ...]
    actual: tuple[float, ...]
    expected: tuple[float, ...]
    wrong: tuple[bool, ...]


@dataclass(frozen=True)
class Affected:
    """The wrong entries along one named dimension.

    Attributes:
        dim: the name of the dimension.
        size: its length.
        wrong: the indices that hold at least one wrong entry.
    """

    dim: str
    size: int
    wrong: tuple[int, ...]


@dataclass(frozen=True)
class Summary:
    """Statistics of a tensor's finite entries, and the count of entries that are not finite."""

    mean: float
    std: float
    low: float
    high: float
    not_finite: int


@dataclass(frozen=True)
class Mismatch:
    """The difference between an output and the expected output.

    Kinds "type" and "plain" are for outputs that are not tensors.
    """

    tensor: str
    kind: Literal["missing", "shape", "dtype", "device", "value", "type", "plain"]
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
    """A line of the learner's file, and the function that contains the line."""

    line: int
    function: str
    text: str


@dataclass(frozen=True)
class Outcome:
    """The outcome of one check for one case.

    Attributes:
        case: the name of the case; None if the outcome is for the whole submission.
        number: the case number for `--case`, from 1.
        frames: the traceback within the learner's file, or the line to blame.
    """

    check: str
    status: Status
    message: str = ""
    case: str | None = None
    number: int | None = None
    mismatch: Mismatch | None = None
    frames: tuple[Frame, ...] = ()


@dataclass(frozen=True)
class EffectiveMask:
    """The keys that each query attends to.

    Each string is the row of one query, with `#` for each key that the query attends to.

    Attributes:
        difference: the difference in words; "" if there is none.
        item: index of the batch item that is shown.
        actual: rows of the submission; () if there is no difference.
        expected: rows of the reference.
    """

    difference: str
    item: int
    actual: tuple[str, ...]
    expected: tuple[str, ...]


@dataclass(frozen=True)
class Diagnosis:
    """The place and the likely cause of a wrong answer.

    Attributes:
        mistakes: the known mistakes that together give exactly this output; () if none do.
        first_line: the first line of the learner's file that computed a wrong value.
        case: number of the case that shows the wrong line, from 1.
        last_reached: the reference's last named result that the submission computed too.
        first_missed: the reference's first named result that the submission did not compute.
        made: the result of the first wrong line: its shape with letters.
        layout: in words, how the output relates to the right one (axes in another order, for
            example), or which input would make the reference give this output.
        effective_mask: the mask that the submission seems to apply.
        cleared: causes that the evidence rules out.
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
    """A tensor that one line of the learner's file made.

    Attributes:
        depth: nesting depth of calls of the file's own functions.
        shape: shape with letters, e.g. "[B=2, H=4, L=7, D=5]"; "" if there is nothing to show.
        low: the least finite entry.
        high: the greatest finite entry.
        not_finite: count of entries that are not finite.
        milestone: the reference's named result that equals the tensor, or "".
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
    """The tensors of one case, line by line.

    Attributes:
        number: the case number, from 1.
        failure: the exception that ended the run, or "".
    """

    case: Case
    number: int
    seed: int
    rows: tuple[TraceRow, ...]
    failure: str = ""


@dataclass(frozen=True)
class Report:
    """The result of grading one submission. Other packages show the report without changes.

    Attributes:
        seed: the seed of the cases; None if no cases were drawn.
        stdout: text that the submission printed.
        only_case: the case number of `--case`, from 1; None if all cases ran.
        unfinished: why the file is not a finished answer, e.g. "does not parse: line 12, invalid
            syntax"; "" if it is finished.
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
        """Return the status of each check that was due, over all cases, in order."""
        return status_of_each((outcome.check, outcome.status) for outcome in self.outcomes)

    def first_failure(self) -> Outcome | None:
        """Return the failed outcome to explain first, or None if none failed."""
        failed = [outcome for outcome in self.outcomes if outcome.status == "failed"]
        if self.verdict == "not-allowed":  # other failures may follow from the forbidden call
            failed = [outcome for outcome in failed if outcome.check == "from scratch"] or failed
        return min(failed, key=lambda outcome: CHECK_ORDER.index(outcome.check), default=None)
