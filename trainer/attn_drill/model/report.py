"""The report on a submission: frozen records of checks, differences, the diagnosis, the lesson.

`to_object` makes the JSON object with schema `attn-drill.report/1`, and `from_object` reads it.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from attn_drill.model.case import Case
from attn_drill.model.challenge import CallCost, Mistake, OtherAnswer, Signature
from attn_drill.model.checks import CHECK_ORDER, Status, Verdict, status_of_each

SCHEMA = "attn-drill.report/1"

# The keys of the objects, each with the attribute of the record that has the value.
_CHECK = {
    "name": "check",
    "case": "case",
    "case_number": "number",
    "status": "status",
    "message": "message",
}
_MISMATCH = {
    name: name
    for name in (
        "tensor kind dims expected_shape actual_shape expected_type actual_type expected_value "
        "actual_value mismatched total max_abs_error max_abs_error_index"
    ).split()
}
_DIAGNOSIS = {
    "missing": "missing",
    "case_number": "case",
    "last_reached": "last_reached",
    "first_missed": "first_missed",
    "layout": "layout",
    "cleared": "cleared",
}
_MASK = {"says": "difference", "batch_item": "item", "actual": "actual", "expected": "expected"}


@dataclass(frozen=True)
class Slice:
    """A few neighbouring entries along the last axis of a tensor."""

    index: tuple[int, ...]  # the index of the first entry
    actual: tuple[float, ...]
    expected: tuple[float, ...]
    wrong: tuple[bool, ...]  # which entries are out of tolerance


@dataclass(frozen=True)
class Affected:
    """The wrong entries along one named dimension."""

    dim: str
    size: int
    wrong: tuple[int, ...]  # the indices that hold at least one wrong entry


@dataclass(frozen=True)
class Summary:
    """Statistics of a tensor's finite entries, and the count of entries that are not finite."""

    mean: float
    std: float
    low: float
    high: float
    not_finite: int


@dataclass(frozen=True)
class ErrorMap:
    """How far the values of a tensor are off, along two of its dimensions."""

    rows: str  # the names of the dimensions; "" if there is only one dimension
    columns: str
    row_count: int  # the lengths of the dimensions; 1 without `rows`
    column_count: int
    row_step: int  # how many neighbouring indices a cell joins
    column_step: int
    # For each row and column, the greatest difference in units of the tolerance. A value is wrong
    # if it is off by more than 1. None if a value is not finite.
    off: tuple[tuple[float | None, ...], ...]


@dataclass(frozen=True)
class Patterns:
    """A matrix of True and False of the submission, next to the expected matrix."""

    rows: str  # the names of both dimensions
    columns: str
    # The index of the matrix in the tensor, and the part of a large matrix that is shown, e.g.
    # "b=0 h=1"; "" if the matrix is the whole tensor.
    place: str
    actual: tuple[str, ...]  # a string for each row, with `#` for True and `.` for False
    expected: tuple[str, ...]


@dataclass(frozen=True)
class Mismatch:
    """The difference between an output and the expected output."""

    tensor: str
    # "type" and "plain" are for outputs that are not tensors.
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
    # Only of the failure that the report explains: the most telling pair of dimensions first, or
    # for a boolean output the patterns.
    error_maps: tuple[ErrorMap, ...] = ()
    patterns: Patterns | None = None


@dataclass(frozen=True)
class Frame:
    """A line of the learner's file, and the function that contains the line; "" for no function."""

    line: int
    function: str
    text: str


@dataclass(frozen=True)
class Outcome:
    """The outcome of one check for one case."""

    check: str
    status: Status
    message: str = ""
    case: str | None = None  # its name; None if the outcome is for the whole submission
    number: int | None = None  # the case number for `--case`, from 1
    mismatch: Mismatch | None = None
    frames: tuple[Frame, ...] = ()  # the traceback within the learner's file, or the line to blame
    # Words about an option of the command line that helps, or "". They are not part of the message,
    # because the students of a class have no command line.
    advice: str = ""

    @property
    def advised_message(self) -> str:
        """The message with the advice."""
        return "; ".join(filter(None, [self.message, self.advice]))


@dataclass(frozen=True)
class EffectiveMask:
    """The keys that each query attends to: `#` in the string of the query."""

    difference: str  # in words; "" if there is none
    item: int  # index of the batch item that is shown
    actual: tuple[str, ...]  # () if there is no difference
    expected: tuple[str, ...]
    cached: int = 0  # how many keys come from the cache; they are the first
    number: int | None = None  # the case whose mask this is, from 1; None if it is not known


@dataclass(frozen=True)
class WrongFunction:
    """A function of the challenge that is wrong too."""

    function: str
    number: int  # the case that shows it, from 1
    first_line: Frame


@dataclass(frozen=True)
class AttentionWeights:
    """The attention weights of one batch item, by head, query and key.

    A weight that is not finite is None. Long dimensions are cut at their ends.
    """

    item: int  # the index of the batch item
    actual: tuple[tuple[tuple[float | None, ...], ...], ...]
    expected: tuple[tuple[tuple[float | None, ...], ...], ...]


@dataclass(frozen=True)
class Operand:
    """A value with right numbers, from which a line computes a wrong value."""

    line: int  # the line that makes it
    name: str  # its variable, or ""
    shape: str  # with letters
    expected: str = ""  # the shape in the reference, if no right answer has this shape


@dataclass(frozen=True)
class Diagnosis:
    """The place and the likely cause of a wrong answer."""

    # The known mistakes that together give exactly this output; () if none do.
    mistakes: tuple[Mistake, ...] = ()
    # The first line of the learner's file that computed a wrong value.
    first_line: Frame | None = None
    # The line from which the mistake may be, for example the last line before `first_line` that
    # makes right numbers; None if it is `first_line` itself.
    start: int | None = None
    missing: bool = False  # whether a step is missing between both lines
    case: int | None = None  # number of the case that shows the wrong line, from 1
    # The reference's last named result that the submission computed too, and the first that it did
    # not compute.
    last_reached: str | None = None
    first_missed: str | None = None
    missed_shape: str = ""  # the shape of the missed result with letters, e.g. "[B, L, M]"
    made_shape: str | None = None  # the shape of the result of the first wrong line, with letters
    rearranged: str = ""  # the shape of a right value that this line rearranges wrongly
    operands: tuple[Operand, ...] = ()  # the right values from which this line computes
    # In words, how the output relates to the right one (axes in another order, for example), or
    # which input would make the reference give this output.
    layout: str | None = None
    effective_mask: EffectiveMask | None = None  # the mask that the submission seems to apply
    cleared: tuple[str, ...] = ()  # causes that the evidence rules out
    # The first wrong lines of other functions of the challenge, one for each function.
    elsewhere: tuple[WrongFunction, ...] = ()
    attention: AttentionWeights | None = None  # in the explained case
    # Whether the reference with this mistake fails every check exactly as the submission. This is
    # known only if the report is for a class.
    is_only_mistake: bool = False

    @property
    def span(self) -> tuple[int, int] | None:
        """The first and the last line between which the mistake is; None if no line is known."""
        if self.first_line is None:
            return None
        return self.start or self.first_line.line, self.first_line.line


@dataclass(frozen=True)
class Curve:
    """The loss over the steps of a small training; None for a loss that is not finite."""

    actual: tuple[float | None, ...]  # () if the learner's file raised an exception
    expected: tuple[float | None, ...]


@dataclass(frozen=True)
class Part:
    """A part of a challenge with several functions, for example its loss."""

    name: str
    # "unknown" if the part fails, but an earlier part that it uses is wrong too.
    state: Literal["right", "wrong", "unknown"]


@dataclass(frozen=True)
class Repair:
    """The progress of a bug hunt with several planted mistakes."""

    planted: int
    # The planted mistakes that are still in the file; None if the file behaves like no choice of
    # the planted mistakes.
    left: tuple[Mistake, ...] | None
    parts: tuple[Part, ...] = ()  # the parts of the challenge; () if it has none
    curve: Curve | None = None  # over a small training, if the challenge describes one


@dataclass(frozen=True)
class TraceRow:
    """A tensor that one line of the learner's file made."""

    line: int
    text: str
    depth: int  # nesting depth of calls of the file's own functions
    # Shape with letters, e.g. "[B=2, H=4, L=7, D=5]"; "" if there is nothing to show.
    shape: str
    dtype: str
    low: float  # the least finite entry
    high: float  # the greatest finite entry
    not_finite: int  # how many entries are not finite
    milestone: str  # the reference's named result that equals the tensor, or ""
    entries: int = 0
    true: int | None = None  # how many are True; None if the tensor is not boolean
    is_wrong: bool = False  # whether this is the first wrong value


@dataclass(frozen=True)
class Trace:
    """The tensors of one case, line by line."""

    case: Case
    number: int  # the case number, from 1
    seed: int
    rows: tuple[TraceRow, ...]
    failure: str = ""  # the exception that ended the run, or ""


@dataclass(frozen=True)
class Report:
    """The result of grading one submission. Other packages show the report without changes."""

    challenge: str
    file: str
    seed: int | None  # the seed of the cases; None if no cases were drawn
    verdict: Verdict
    outcomes: tuple[Outcome, ...]
    cases: tuple[Case, ...] = ()
    stdout: str = ""  # text that the submission printed
    elapsed_seconds: float = 0.0
    only_case: int | None = None  # the case number of `--case`, from 1; None if all cases ran
    notes: tuple[str, ...] = ()
    diagnosis: Diagnosis | None = None
    # Why the file is not a finished answer, e.g. "does not parse: line 12, invalid syntax"; "" if
    # it is finished.
    unfinished: str = ""
    source: str = ""  # the text that was graded; "" if it is not known
    # The callables of the contract; () if they are not known.
    signatures: tuple[Signature, ...] = ()
    repair: Repair | None = None  # the progress of a bug hunt; None for other files
    # The share of each due check that is right, 0 to 1; {} if the report is not for a class.
    shares: Mapping[str, float] = field(default_factory=dict)

    def statuses(self) -> dict[str, Status]:
        """Return the status of each check that was due, over all cases, in order."""
        return status_of_each((outcome.check, outcome.status) for outcome in self.outcomes)

    def first_failure(self) -> Outcome | None:
        """Return the failed outcome to explain, or None if none failed.

        It belongs to the first failed check. If the diagnosis is about another failed case of this
        check, that case is explained, so that line, picture and sizes belong together.
        """
        failed = [outcome for outcome in self.outcomes if outcome.status == "failed"]
        if self.verdict == "not-allowed":  # other failures may follow from the forbidden call
            failed = [outcome for outcome in failed if outcome.check == "from scratch"] or failed
        first = min(failed, key=lambda outcome: CHECK_ORDER.index(outcome.check), default=None)
        if first is None or self.diagnosis is None or self.diagnosis.case is None:
            return first
        for outcome in failed:
            if outcome.check == first.check and outcome.number == self.diagnosis.case:
                return outcome
        return first


@dataclass(frozen=True)
class Note:
    """A remark that an interviewer could make about an answer that passed."""

    line: int  # of the file; 0 if the remark belongs to no line
    says: str  # the measured fact
    why: str  # why the fact matters
    recommends: str = ""  # the name of a right answer that does better, or ""


@dataclass(frozen=True)
class Lesson:
    """The lesson about one answer that passed."""

    call: str = ""  # the measured call in words, or "" if the challenge describes none
    cost: CallCost | None = None  # None if it could not be measured
    notes: tuple[Note, ...] = ()  # the most important first
    others: tuple[OtherAnswer, ...] = ()  # the first is the reference
    is_measured: bool = True  # False if the answer did not run to its end


def to_object(report: Report) -> dict[str, Any]:
    """Return the report as plain dicts and lists. Keys that are only for a class may be missing."""
    diagnosis = report.diagnosis
    values = {
        "schema": SCHEMA,
        "challenge": report.challenge,
        "file": report.file,
        "seed": report.seed,
        "verdict": report.verdict,
        "checks": [_check(outcome) for outcome in report.outcomes],
        "diagnosis": None if diagnosis is None else _diagnosis(diagnosis),
        "stdout": report.stdout,
        "elapsed_seconds": round(report.elapsed_seconds, 3),
    }
    if report.shares:
        values["shares"] = dict(report.shares)
    return values


def _check(outcome: Outcome) -> dict[str, Any]:
    values = _object(outcome, _CHECK)
    if outcome.mismatch is not None:
        dims = outcome.mismatch.dims or None
        values["mismatch"] = {**_object(outcome.mismatch, _MISMATCH), "dims": dims}
    if outcome.frames:
        values["line"] = outcome.frames[-1].line
    if outcome.advice:
        values["advice"] = outcome.advice
    return values


def _diagnosis(diagnosis: Diagnosis) -> dict[str, Any]:
    line, mask, span = diagnosis.first_line, diagnosis.effective_mask, diagnosis.span
    return {
        "mistakes": [{"id": mistake.id, "says": mistake.says} for mistake in diagnosis.mistakes],
        "first_line": None if line is None else line.line,
        "span": None if span is None else list(span),
        **_object(diagnosis, _DIAGNOSIS),
        "effective_mask": None if mask is None else _object(mask, _MASK),
        **({"only_mistake": True} if diagnosis.is_only_mistake else {}),
    }


def _object(record: object, keys: Mapping[str, str]) -> dict[str, Any]:
    values = {key: getattr(record, attribute) for key, attribute in keys.items()}
    return {
        key: list(value) if isinstance(value, tuple) else value for key, value in values.items()
    }


def from_object(data: Mapping[str, Any]) -> Report:
    """Return the report that `to_object` converted, without cases, texts of lines and slices.

    KeyError or TypeError if `to_object` did not make the object.
    """
    diagnosis = data["diagnosis"]
    return Report(
        challenge=data["challenge"],
        file=data["file"],
        seed=data["seed"],
        verdict=data["verdict"],
        outcomes=tuple(_outcome_from(check) for check in data["checks"]),
        stdout=data["stdout"],
        elapsed_seconds=data["elapsed_seconds"],
        shares=data.get("shares", {}),
        diagnosis=None if diagnosis is None else _diagnosis_from(diagnosis),
    )


def _outcome_from(data: Mapping[str, Any]) -> Outcome:
    mismatch = data.get("mismatch")
    if mismatch is not None:
        fields = _fields(mismatch, _MISMATCH)
        mismatch = Mismatch(**{**fields, "dims": fields["dims"] or ""})
    return Outcome(
        **_fields(data, _CHECK),
        mismatch=mismatch,
        frames=_frames(data.get("line")),
        advice=data.get("advice", ""),
    )


def _diagnosis_from(data: Mapping[str, Any]) -> Diagnosis:
    mask, mistakes, span = data["effective_mask"], data["mistakes"], data["span"]
    return Diagnosis(
        mistakes=tuple(Mistake(mistake["id"], "", "", mistake["says"], "") for mistake in mistakes),
        first_line=next(iter(_frames(data["first_line"])), None),
        start=span[0] if span is not None and span[0] != span[1] else None,
        **_fields(data, _DIAGNOSIS),
        effective_mask=None if mask is None else EffectiveMask(**_fields(mask, _MASK)),
        is_only_mistake=data.get("only_mistake", False),
    )


def _frames(line: int | None) -> tuple[Frame, ...]:
    return () if line is None else (Frame(line, "", ""),)


def _fields(data: Mapping[str, Any], keys: Mapping[str, str]) -> dict[str, Any]:
    values = {attribute: data[key] for key, attribute in keys.items()}
    return {
        name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
    }


def to_json(report: Report) -> str:
    """Return one line of JSON. It is ASCII, so that escape sequences in it cannot act."""
    return json.dumps(to_object(report), allow_nan=False)


def error_to_json(sentence: str) -> str:
    """Return the object for exit codes 2 and 3, which have no verdict."""
    return json.dumps({"schema": SCHEMA, "verdict": None, "error": sentence})
