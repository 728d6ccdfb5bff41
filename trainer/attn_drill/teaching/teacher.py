"""Measure an answer that passed, and the right answers of the pack, on the same calls."""

from __future__ import annotations

import contextlib
import importlib
import io
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import product

from torch import Tensor

from attn_drill.grading.case_set import CaseSet
from attn_drill.grading.challenge_content import load_module
from attn_drill.grading.expected import Value
from attn_drill.grading.grader import Judgement
from attn_drill.grading.ready_workers import Workers
from attn_drill.model.errors import PackError
from attn_drill.model.lesson import Lesson, OtherAnswer
from attn_drill.packs.pack_reader import other_answers
from attn_drill.teaching.notes import MeasuredAnswer, notes
from attn_drill.worker.case_runner import CaseRunner, Hooks, KeptTensors
from attn_drill.worker.guarded_call import GuardedCall
from attn_drill.worker.protocol import Reply

# The dtypes and checks of measured cases.
_MEASURED_KINDS = tuple(product(("float32", "bfloat16"), ("values", "masks")))
_MOST_OPERATIONS = 3000  # of a realistic call, with views: about two seconds


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
        own = _measured("yours", case_set, result.reply, result.tensors)
        return Lesson(call, own.cost, notes(own, measured), others)

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
        if is_plain and kind in _MEASURED_KINDS:
            chosen.setdefault(kind, index)
    return case_set.only(chosen.values(), alone=True)


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
