"""Compare the results that a worker process reports with the results of the reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

from torch import Tensor

from attn_drill.grading.case_set import CaseSet
from attn_drill.grading.expected import Expected
from attn_drill.grading.prepared_case import PreparedCase
from attn_drill.grading.tensor_comparison import compare_values, has_wrong_entry
from attn_drill.model.case import Case
from attn_drill.model.report import Frame, Mismatch, Outcome
from attn_drill.worker.protocol import (
    Call,
    CallFailure,
    CallReply,
    FrameData,
    Reply,
    Returned,
    RunReply,
    name_of,
)
from attn_drill.worker.worker_client import WorkerResult

Returns = Mapping[str, Returned]  # the outputs of one call, by name


@dataclass(frozen=True)
class CaseResult:
    """One case with its expected results and the worker's reply."""

    index: int  # the index of the case, from 0
    prepared: PreparedCase  # the case with its inputs and its expected results
    reply: RunReply  # the worker's reply for this case

    @property
    def number(self) -> int:
        """The number of the case in a report, from 1."""
        return self.index + 1

    @property
    def case(self) -> Case:
        """The case that the worker ran."""
        return self.prepared.case

    @property
    def expected(self) -> Expected:
        """The results of the reference for this case."""
        return self.prepared.expected

    @property
    def has_run(self) -> bool:
        """True if the module has the right layers, and the first call raised no exception."""
        return self.reply.failure is None and not self.reply.unassigned

    def passed(self, check: str, message: str = "") -> Outcome:
        """Return a passed outcome of a check for this case."""
        return Outcome(check, "passed", message, self.case.name, self.number)

    def failed(
        self,
        check: str,
        message: str,
        mismatch: Mismatch | None = None,
        frames: tuple[Frame, ...] = (),
    ) -> Outcome:
        """Return a failed outcome of a check for this case."""
        return Outcome(check, "failed", message, self.case.name, self.number, mismatch, frames)


class Comparison:
    """The results of one submission, next to the expected results. The checks read it.

    Args:
        worker_result: the worker's reply, and the way in which the worker ended.
        only: the index of the single graded case; None to grade all cases.
        loop: after a timeout, a sentence about the count that grows with the sizes.
    """

    def __init__(
        self,
        case_set: CaseSet,
        worker_result: WorkerResult,
        only: int | None = None,
        loop: str = "",
    ) -> None:
        self.case_set, self.worker_result, self.only = case_set, worker_result, only
        self.loop = loop
        self._compared: dict[tuple[int, int], Mismatch | None] = {}
        self._gradients: dict[tuple[int, str], Mismatch | None] = {}
        self._ran: dict[int, bool] = {}
        self._wrong: dict[int, set[str]] = {}
        self._ahead = 0  # number of runs that were compared while the worker was running

    @property
    def reply(self) -> Reply:
        """The worker's reply."""
        return self.worker_result.reply

    @cached_property
    def results(self) -> list[CaseResult]:
        """The results of the graded cases that the worker has run, in order."""
        runs = self.reply.runs[: len(self.case_set.prepared)]
        return [self._result(index) for index in range(len(runs)) if self.only in (None, index)]

    def _result(self, index: int) -> CaseResult:
        return CaseResult(index, self.case_set.prepared[index], self.reply.runs[index])

    def result_of(self, index: int) -> CaseResult | None:
        """Return the result of a case; None if the case is not graded or was not run."""
        return next((result for result in self.results if result.index == index), None)

    def calls(self, result: CaseResult) -> Sequence[Call]:
        """Return the calls that the worker was to make in a case."""
        return self.case_set.calls[result.index]

    def repeated(self, result: CaseResult) -> CallReply:
        """Return the results of another call like the first; empty if there was none."""
        for place, call in enumerate(self.calls(result)):
            if place and call.values == "first" and not call.is_in_eval_mode:
                return result.reply.call(place)
        return CallReply()

    def compare_ahead(self) -> None:
        """Compare the results received so far, while the worker is still running.

        Stop after the first mismatch: the checks that need the other results may be skipped.
        """
        for index in range(self._ahead, len(self.reply.runs)):
            if index >= len(self.case_set.prepared):
                return  # the worker sent more runs than there are cases
            self._ahead = index + 1
            if self.only in (None, index) and not self._agrees(self._result(index)):
                self._ahead = len(self.case_set.prepared)
                return

    def _agrees(self, result: CaseResult) -> bool:
        """Return whether all compared outputs and gradients of a case are as expected."""
        if result.reply.failure is not None:
            return True
        if result.case.dropout is not None:
            for name in result.expected.outputs:
                self.gradients_under(result, name)  # stores the result for the checks
            return True
        if any(self.value_mismatch(result, place) for place in range(len(self.calls(result)))):
            return False
        names = result.expected.gradients if result.case.dtype != "bfloat16" else ()
        return not any(self.gradient_mismatch(result, name) for name in names)

    def gradient(self, reply: RunReply, name: str) -> Tensor | None:
        """Return the gradient of an input or parameter, if the worker sent one."""
        return self.tensor(reply.first.gradients.get(name, -1))

    def gradient_mismatch(self, result: CaseResult, name: str) -> Mismatch | None:
        """Return the difference of a gradient from the expected one, or None.

        None also if the gradient is missing or has the wrong shape.
        """
        key = (result.index, name)
        if key not in self._gradients:
            want = result.expected.gradients[name].value
            got = self.gradient(result.reply, name)
            if got is None or got.shape != want.shape:
                return None
            bound = result.expected.gradient_bounds[name]
            self._gradients[key] = compare_values(f"gradient of {name}", "", {}, want, got, bound)
        return self._gradients[key]

    def gradients_under(self, result: CaseResult, output: str) -> Expected | None:
        """Return the reference's results with the same weights dropped as in the submission.

        None if there is nothing to compare.
        """
        value = self.value_of(result.reply.outputs.get(output))
        if value is None or value.shape != result.expected.outputs[output].value.shape:
            return None
        prepared = result.prepared
        return prepared.reference.gradients_under(prepared, output, value)

    def tensor(self, tensor_id: int) -> Tensor | None:
        """Return the tensor of the reply with this id, or None."""
        tensors = self.worker_result.tensors
        return tensors[tensor_id] if 0 <= tensor_id < len(tensors) else None

    def value_of(self, returned: Returned | None) -> Tensor | None:
        """Return the tensor of an output; None if its shape is not the shape in the reply."""
        if returned is None:
            return None
        tensor = self.tensor(returned.tensor_id)
        return tensor if tensor is not None and list(tensor.shape) == returned.shape else None

    def attribute_mismatches(self, result: CaseResult) -> Iterator[Mismatch]:
        """Yield the outputs that are missing or have a wrong shape, dtype or device."""
        outputs = result.reply.outputs
        for name, want in result.expected.outputs.items():
            got, dims, shape = outputs.get(name), result.case.dims[name], tuple(want.value.shape)
            if got is None or not (got.shape or got.dtype):
                yield _missing(name, dims, shape, got)
            elif tuple(got.shape) != shape:
                yield Mismatch(name, "shape", dims, shape, tuple(got.shape))
            elif (dtype := self._dtype_of(got)) != want.dtype:
                yield Mismatch(name, "dtype", dims, shape, shape, want.dtype, dtype)
            elif got.device != "cpu":
                yield Mismatch(name, "device", dims, shape, shape, "cpu", got.device)
        for name, kind in result.case.plain.items():
            got = outputs.get(name)
            if got is None or got.plain != kind:
                yield _wrong_type(name, kind, got)

    def _dtype_of(self, got: Returned) -> str:
        """Return the dtype of the tensor; if no tensor was sent, the dtype in the reply."""
        tensor = self.tensor(got.tensor_id)
        return got.dtype if tensor is None else name_of(tensor.dtype)

    def value_mismatch(self, result: CaseResult, place: int = 0) -> Mismatch | None:
        """Return the difference of the first wrong output of one call, or None.

        Args:
            place: the place of the call among the calls of the case, from 0.
        """
        key = result.index, place  # several checks compare the same call
        if key not in self._compared:
            self._compared[key] = next(self._value_mismatches(result, place), None)
        return self._compared[key]

    def _value_mismatches(self, result: CaseResult, place: int) -> Iterator[Mismatch]:
        case, expected, outputs = result.case, result.expected, result.reply.call(place).outputs
        is_second = self.calls(result)[place].values == "second"
        bounds = expected.bounds_second if is_second else expected.bounds
        for name, want in (expected.second if is_second else expected.outputs).items():
            value = self.value_of(outputs.get(name))
            if value is None or value.shape != want.value.shape:
                yield _missing(name, case.dims[name], tuple(want.value.shape), outputs.get(name))
            elif found := compare_values(
                name, case.dims[name], case.sizes, want.value, value, bounds[name]
            ):
                yield found
        for name, text in (expected.plain_second if is_second else expected.plain).items():
            got = outputs.get(name)
            if got is None or got.plain != case.plain[name]:
                yield _wrong_type(name, case.plain[name], got)
            elif got.text != text:
                is_text = got.plain == "str"
                wanted, actual = (repr(text), repr(got.text)) if is_text else (text, got.text)
                yield Mismatch(name, "plain", expected_value=wanted, actual_value=actual)

    def wrong_outputs(self, result: CaseResult) -> set[str]:
        """Return the names of the outputs of the first call that are not as expected."""
        outputs = {*result.expected.outputs, *result.expected.plain}
        wrong = {mismatch.tensor for mismatch in self.attribute_mismatches(result)}
        return outputs & (wrong | self._wrong_values(result))

    def _wrong_values(self, result: CaseResult) -> set[str]:
        """Return the names of the outputs of the first call without the expected value."""
        if result.index not in self._wrong:
            self._wrong[result.index] = set(self._find_wrong_values(result))
        return self._wrong[result.index]

    def _find_wrong_values(self, result: CaseResult) -> Iterator[str]:
        expected, outputs = result.expected, result.reply.outputs
        for name, want in expected.outputs.items():
            value = self.value_of(outputs.get(name))
            if value is None or value.shape != want.value.shape:
                yield name
                continue
            if has_wrong_entry(want.value, value, expected.bounds[name]):
                yield name
        for name, text in expected.plain.items():
            got = outputs.get(name)
            if got is None or (got.plain, got.text) != (result.case.plain[name], text):
                yield name

    def ran(self, result: CaseResult) -> bool:
        """Return whether the first call of a case gave outputs of the right shapes."""
        if result.index not in self._ran:
            mismatches = self.attribute_mismatches(result)
            is_wrong = any(found.kind in ("missing", "shape") for found in mismatches)
            self._ran[result.index] = result.reply.failure is None and not is_wrong
        return self._ran[result.index]

    def right(self, result: CaseResult) -> bool:
        """Return whether the first call of a case gave right values.

        Values under dropout are random, so any values are right there.
        """
        if not self.ran(result):
            return False
        is_random = result.case.dropout is not None
        return is_random or not self._wrong_values(result)


def _missing(name: str, dims: str, shape: tuple[int, ...], got: Returned | None) -> Mismatch:
    return Mismatch(name, "missing", dims, shape, actual_type=got.description if got else "nothing")


def _wrong_type(name: str, expected: str, got: Returned | None) -> Mismatch:
    actual = got.description if got else "nothing"
    return Mismatch(name, "type", expected_type=expected, actual_type=actual)


def frames_of(frames: list[FrameData]) -> tuple[Frame, ...]:
    """Return the frames of the learner's file, the outermost call first."""
    return tuple(Frame(frame.line, frame.function, frame.text) for frame in frames)


def in_words(failure: CallFailure) -> str:
    """Return an exception in words, e.g. `RuntimeError: …`.

    Three exceptions get their own words: a return value of a wrong type, `sys.exit` and a
    NotImplementedError without a message.
    """
    if failure.type == "UnexpectedReturnError":
        return failure.message
    if failure.type == "SystemExit":
        return f"it called sys.exit({failure.message})"
    if failure.type == "NotImplementedError" and not failure.message.strip():
        return "NotImplementedError: this part is not written yet"
    return f"{failure.type}: {failure.message.strip()}".removesuffix(": ")
