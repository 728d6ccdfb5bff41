"""Measure an answer that passed, and write notes about it.

A note is written only if the facts show a difference that matters.
"""

from __future__ import annotations

import contextlib
import importlib
import io
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product

from torch import Tensor

from attn_drill.grading._reference import Value
from attn_drill.grading.case_set import CaseSet
from attn_drill.grading.content import load_module
from attn_drill.grading.grader import Judgement, Workers
from attn_drill.model.challenge import CallCost, OtherAnswer
from attn_drill.model.errors import PackError
from attn_drill.model.report import Lesson, Note
from attn_drill.model.words import in_bytes, in_count
from attn_drill.packs.pack_reader import REFERENCE, other_answers
from attn_drill.worker.case_runner import CaseRunner, Hooks, KeptTensors
from attn_drill.worker.execution import GuardedCall
from attn_drill.worker.protocol import Facts, Reply

# The least ratio at which a difference is worth a note.
_MORE_MEMORY = 1.25  # than the reference
_TWICE_THE_MEMORY = 2.0  # of the best right answer
_MORE_MULTIPLY_ADDS = 1.05
_MORE_OPERATIONS = 1.5
_LEAST_OPERATIONS = 10
_LEAST_MULTIPLY_ADDS = 10**9  # fewer take no time
_LARGER_ERROR = 1.5
_LEAST_BYTES = 1 << 20
_TOO = " This is true of the reference, too."
# A fact about lines, what it means, and why it matters.
_LINE_FACTS = (
    (
        "reads",
        "Python reads a value of a tensor here, or a shape depends on values.",
        "torch.compile breaks its graph at such a line, and a GPU must finish all work first.",
    ),
    (
        "other_device",
        "A tensor of this line is on the CPU even if the input is on another device.",
        "On a GPU the call raises an error: pass device=, or register the tensor as a buffer.",
    ),
    (
        "default_dtype",
        "This line makes a tensor without dtype=, so bfloat16 values become float32 when they meet "
        "it.",
        "Later results take twice the memory by accident; pass dtype= and decide it.",
    ),
)

# The dtypes and checks of measured cases.
MEASURED_KINDS = tuple(product(("float32", "bfloat16"), ("values", "masks")))
_MOST_OPERATIONS = 3000  # of a realistic call, with views: about two seconds


@dataclass(frozen=True)
class MeasuredAnswer:
    """The facts about one answer."""

    name: str
    realistic: Facts | None = None  # about the realistic call; None if the call failed
    calls: Sequence[Facts] = ()  # about the calls on cases, in the same order for all answers
    # The root mean square of the errors in bfloat16, divided by that of the values, if it is known.
    half_error: float | None = None

    @property
    def cost(self) -> CallCost | None:
        """The cost of the realistic call."""
        facts = self.realistic
        if facts is None:
            return None
        return CallCost(facts.operations, facts.multiply_adds, facts.peak_bytes)


def notes(answer: MeasuredAnswer, others: Sequence[MeasuredAnswer]) -> tuple[Note, ...]:
    """Return the notes on an answer, the most important first.

    Args:
        others: the facts about the right answers of the pack. The first is the reference.
    """
    reference = others[0] if others else MeasuredAnswer(REFERENCE)
    all_notes = list(_copies(answer, reference, others))
    for fact, says, why in _LINE_FACTS:
        too = _TOO if _lines(reference, fact) else ""
        for line in _lines(answer, fact):
            all_notes.append(Note(line, f"{says}{too}", why))
    all_notes += _precision(answer, reference, others)
    all_notes += _memory(answer, others)
    all_notes += _work(answer, reference)
    too = _TOO if _never_read(reference) else ""
    why = "An unused parameter gets no gradient; unused state takes memory in every checkpoint."
    for name in sorted(_never_read(answer)):
        all_notes.append(Note(0, f"None of the measured calls reads {name}.{too}", why))
    return tuple(all_notes)


def _copies(
    answer: MeasuredAnswer, reference: MeasuredAnswer, others: Sequence[MeasuredAnswer]
) -> Iterator[Note]:
    """Yield a note for each line that copies repeated entries, if another answer avoids this."""
    if answer.realistic is None:
        return
    compared = [(other.name, other.realistic) for other in others if other.realistic is not None]
    without = [name for name, facts in compared if not facts.copies]
    if not without:
        return
    too = _TOO if reference.realistic is not None and reference.realistic.copies else ""
    by_line: dict[int, tuple[int, int]] = {}
    for copy in answer.realistic.copies:
        before, after = by_line.get(copy.line, (0, 0))
        by_line[copy.line] = before + copy.before, after + copy.after
    by_size: dict[tuple[int, int], list[int]] = {}
    for line, size in by_line.items():
        by_size.setdefault(size, []).append(line)
    for (before, after), (line, *more) in by_size.items():
        subject = "This line"
        if more:
            word = "line" if len(more) == 1 else "lines"
            subject += f" (as {word} {', '.join(map(str, more))})"
        yield Note(
            line,
            f"{subject} copies repeated entries: {in_bytes(after)} instead of "
            f"{in_bytes(before)}.{too}",
            f"The copy is written to memory and read again; {_quoted(without[0])} needs no copy.",
            without[0],
        )


def _precision(
    answer: MeasuredAnswer, reference: MeasuredAnswer, others: Sequence[MeasuredAnswer]
) -> Iterator[Note]:
    """Yield a note if another right answer is clearly more accurate in bfloat16."""
    errors = [(other.half_error, other.name) for other in others if other.half_error]
    if answer.half_error is None or not errors:
        return
    best, name = min(errors)
    if answer.half_error < _LARGER_ERROR * best:
        return
    compared = f"by {best:.2%} in {_quoted(name)}"
    usual = reference.half_error
    if name != REFERENCE and usual and usual >= _LARGER_ERROR * best:
        compared = f"by {usual:.2%} in the reference and {compared}"
    lines = _lines(answer, "half_softmax")
    softmax = " The softmax of this line runs in bfloat16." if lines else ""
    yield Note(
        lines[0] if lines else 0,
        f"In bfloat16 the result is off by {answer.half_error:.2%} (root mean square) in your "
        f"answer, {compared}.{softmax}",
        "bfloat16 keeps 8 bits of a number; scores and weights in float32 lose less.",
        name,
    )


def _memory(answer: MeasuredAnswer, others: Sequence[MeasuredAnswer]) -> Iterator[Note]:
    """Yield a note if the reference or the best right answer needs clearly less memory."""
    peaks = {other.name: other.cost.peak_bytes for other in others if other.cost is not None}
    if answer.realistic is None or answer.realistic.peak_bytes < _LEAST_BYTES or not peaks:
        return
    peak, held = answer.realistic.peak_bytes, answer.realistic.held
    best = min(peaks, key=lambda name: peaks[name])
    reference = peaks.get(REFERENCE)
    is_above_reference = reference is not None and peak > _MORE_MEMORY * reference
    if not is_above_reference and peak <= _TWICE_THE_MEMORY * peaks[best]:
        return
    compared = [REFERENCE, best] if reference is not None and best != REFERENCE else [best]
    sizes = " and ".join(f"{in_bytes(peaks[name])} by {_quoted(name)}" for name in compared)
    yield Note(
        held[0].line if held else 0,
        f"At its peak your answer uses {in_bytes(peak)} for new tensors, compared with {sizes}. "
        "This line makes the largest of them.",
        "Memory limits the batch size and the length that fit on a GPU.",
        best,
    )


def _work(answer: MeasuredAnswer, reference: MeasuredAnswer) -> Iterator[Note]:
    """Yield notes on multiply-adds and operations, compared with the reference."""
    if answer.realistic is None or reference.realistic is None:
        return
    products, usual = answer.realistic.multiply_adds, reference.realistic.multiply_adds
    if products > max(_MORE_MULTIPLY_ADDS * usual, _LEAST_MULTIPLY_ADDS):
        yield Note(
            0,
            f"Your answer needs {in_count(products)} multiply-adds, the reference "
            f"{in_count(usual)}.",
            "Long prompts are limited by arithmetic, so each extra product costs time there.",
        )
    operations, usual = answer.realistic.operations, reference.realistic.operations
    if operations > max(_MORE_OPERATIONS * usual, usual + _LEAST_OPERATIONS):
        yield Note(
            0,
            f"Your answer runs {operations} tensor operations that compute or copy, the reference "
            f"{usual}.",
            "Each operation starts a kernel on a GPU; for short inputs the starts cost the most.",
        )


def _quoted(name: str) -> str:
    return "the reference" if name == REFERENCE else f"`{name}`"


def _never_read(answer: MeasuredAnswer) -> set[str]:
    unused = [set(facts.unused) for facts in answer.calls]
    return set.intersection(*unused) if unused else set()


def _lines(answer: MeasuredAnswer, fact: str) -> list[int]:
    """Return the lines of a fact in all calls. A fact that belongs to no line is left out."""
    lines: set[int] = set()
    for facts in (*answer.calls, answer.realistic):
        lines.update(getattr(facts, fact, ()))
    return sorted(lines - {0})


class _TooManyOperationsError(BaseException):
    """Raised in an answer of the pack whose realistic call takes too long."""


class _Patience(Hooks):
    """End the realistic call of an answer that takes too long, or for which nobody waits."""

    # `GuardedCall` takes the exception; then `Teacher` finds out that another request has arrived.

    def __init__(self, workers: Workers) -> None:
        self._workers, self._operations = workers, 0

    def start_operation(self) -> None:
        self._workers.check_interrupt()
        self._operations += 1
        if self._operations > _MOST_OPERATIONS:
            raise _TooManyOperationsError


def preload() -> None:
    """Import what torch needs for tensors without values. It takes half a second."""
    importlib.import_module("torch.fx.experimental.symbolic_shapes")


class Teacher:
    """Make the lesson after a pass. The submission runs in a worker."""

    def __init__(self, workers: Workers) -> None:
        self._workers = workers

    def lesson(self, judgement: Judgement) -> Lesson:
        """Return the lesson about a submission that passed.

        The answers of the pack run in this process meanwhile.
        """
        case_set = measured_cases(judgement.comparison.case_set)
        running = self._workers.begin(case_set, judgement.submission, judgement.assignment, "facts")
        answers = other_answers(case_set.challenge)
        try:
            measured = [self._measured_content(case_set, answer) for answer in answers]
        except BaseException:
            running.stop()
            raise
        result = self._workers.finish(running)
        realistic = case_set.content.realistic()
        call = "" if realistic is None else realistic.name
        others = tuple(
            replace(answer, cost=facts.cost)
            for answer, facts in zip(answers, measured, strict=True)
        )
        if result.how != "replied":
            return Lesson(call, None, (), others, is_measured=False)
        own_facts = _measured("yours", case_set, result.reply, result.tensors)
        return Lesson(call, own_facts.cost, notes(own_facts, measured), others)

    def _measured_content(self, case_set: CaseSet, answer: OtherAnswer) -> MeasuredAnswer:
        """Return the facts about an answer of the pack; without facts if it cannot run."""
        self._workers.check_interrupt()
        request, tensors = case_set.decoded_request("facts")
        path, table = f"{answer.name}.py", KeptTensors()
        runner = CaseRunner(request, tensors, GuardedCall(path), table, _Patience(self._workers))
        silence = io.StringIO()
        with contextlib.redirect_stdout(silence), contextlib.redirect_stderr(silence):
            try:
                namespace = load_module("submission", path, answer.source)
            except PackError:
                return MeasuredAnswer(answer.name)
            runner.run_all(dict(namespace), case_set.content.drive)
        return _measured(answer.name, case_set, runner.reply, table.tensors)


def measured_cases(case_set: CaseSet) -> CaseSet:
    """Return up to four plain cases: without and with a mask, in float32 and in bfloat16."""
    chosen: dict[tuple[str, str], int] = {}
    for index, prepared in enumerate(case_set.prepared):
        case = prepared.case
        is_plain = case.probe is None and case.dropout is None and not case.layout
        kind = case.dtype, case.check
        if is_plain and kind in MEASURED_KINDS:
            chosen.setdefault(kind, index)
    return case_set.select(chosen.values(), alone=True)


def _measured(
    name: str, case_set: CaseSet, reply: Reply, tensors: Sequence[Tensor]
) -> MeasuredAnswer:
    """Return the facts of a reply, with the error in bfloat16."""
    in_half, facts = [], []
    for prepared, run in zip(case_set.prepared, reply.runs, strict=False):
        if run.facts is not None:
            facts.append(run.facts)
        if prepared.case.dtype == "bfloat16" and run.failure is None:
            outputs = {
                output: tensors[value.tensor_id]
                for output, value in run.outputs.items()
                if 0 <= value.tensor_id < len(tensors)
            }
            in_half.append((prepared.expected.outputs, outputs))
    realistic = reply.realistic if reply.is_realistic_complete else None
    return MeasuredAnswer(name, realistic, facts, relative_error(in_half))


def relative_error(
    cases: Iterable[tuple[Mapping[str, Value], Mapping[str, Tensor]]],
) -> float | None:
    """Return the root mean square of the errors of all cases divided by that of the values.

    Args:
        cases: for each case, the expected values and the tensors, by output.

    Returns:
        None if there is no case, or if an output is missing, has another shape or is complex.
    """
    squares = expected_squares = 0.0
    for expected, outputs in cases:
        for name, value in expected.items():
            actual = outputs.get(name)
            if actual is None or actual.shape != value.value.shape or not value.value.numel():
                return None
            if actual.is_complex():
                return None
            squares += float((actual.double() - value.value).square().sum())
            expected_squares += float(value.value.double().square().sum())
    if not expected_squares or not math.isfinite(squares):
        return None
    return math.sqrt(squares / expected_squares)
