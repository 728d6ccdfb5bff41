"""Compare the results that a worker process reports with the results of the reference."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from torch import Tensor

from attn_drill.grading._reference import Expected, PreparedCase
from attn_drill.grading._tolerance import compare_values, has_wrong_entry
from attn_drill.grading.case_set import CaseSet
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


@dataclass(frozen=True, eq=False)
class CaseResult:
    """One case with its expected results, the worker's reply, and the differences of both."""

    index: int  # the index of the case, from 0
    prepared: PreparedCase  # the case with its inputs and its expected results
    reply: RunReply  # the worker's reply for this case
    calls: Sequence[Call] = ()  # the calls that the worker was to make
    tensors: Sequence[Tensor] = ()  # the tensors that the worker has sent, for all cases
    # Several checks need the same difference. The key is the place of a call, or the name of a
    # gradient.
    _mismatches: dict[int | str, Mismatch | None] = field(default_factory=dict)

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

    @cached_property
    def ran(self) -> bool:
        """True if the first call gave outputs of the right shapes."""
        if self.reply.failure is not None:
            return False
        return not any(
            mismatch.kind in ("missing", "shape") for mismatch in self.attribute_mismatches()
        )

    @property
    def right(self) -> bool:
        """True if the first call gave right values. Under dropout, any values are right."""
        return self.ran and (self.case.dropout is not None or not self._wrong_values)

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
        if self.reply.lost_imaginary:
            message += (
                f"; the buffer {', '.join(self.reply.lost_imaginary)} lost its imaginary part when "
                f"the module was cast to {self.case.dtype}: "
                "keep it as cos and sin, as a plain attribute, or compute it in forward"
            )
        return Outcome(check, "failed", message, self.case.name, self.number, mismatch, frames)

    def tensor(self, tensor_id: int) -> Tensor | None:
        """Return the tensor with this id; None if the worker sent none."""
        return self.tensors[tensor_id] if 0 <= tensor_id < len(self.tensors) else None

    def value_of(self, returned: Returned | None) -> Tensor | None:
        """Return the tensor of an output; None if its shape is not the shape in the reply."""
        if returned is None:
            return None
        tensor = self.tensor(returned.tensor_id)
        return tensor if tensor is not None and list(tensor.shape) == returned.shape else None

    def gradient(self, name: str) -> Tensor | None:
        """Return the gradient of an input or parameter; None if the worker sent none."""
        return self.tensor(self.reply.first.gradients.get(name, -1))

    def repeated(self) -> CallReply:
        """Return the results of another call like the first; empty if there was none."""
        for place, call in enumerate(self.calls):
            if place and call.values == "first" and not call.is_in_eval_mode:
                return self.reply.call(place)
        return CallReply()

    def attribute_mismatches(self) -> Iterator[Mismatch]:
        """Yield the outputs that are missing or have a wrong shape, dtype or device."""
        outputs = self.reply.outputs
        for name, want in self.expected.outputs.items():
            got, dims, shape = outputs.get(name), self.case.dims[name], tuple(want.value.shape)
            if got is None or not (got.shape or got.dtype):
                yield _missing(name, dims, shape, got)
                continue
            tensor = self.tensor(got.tensor_id)
            dtype = got.dtype if tensor is None else name_of(tensor.dtype)
            if tuple(got.shape) != shape:
                yield Mismatch(name, "shape", dims, shape, tuple(got.shape))
            elif dtype != want.dtype:
                yield Mismatch(name, "dtype", dims, shape, shape, want.dtype, dtype)
            elif got.device != "cpu":
                yield Mismatch(name, "device", dims, shape, shape, "cpu", got.device)
        for name, kind in self.case.plain.items():
            got = outputs.get(name)
            if got is None or got.plain != kind:
                yield _wrong_type(name, kind, got)

    def value_mismatch(self, place: int = 0) -> Mismatch | None:
        """Return the difference of the first wrong output of a call, from 0, or None."""
        if place not in self._mismatches:
            self._mismatches[place] = self._find_value_mismatch(place)
        return self._mismatches[place]

    def _find_value_mismatch(self, place: int) -> Mismatch | None:
        case, expected, outputs = self.case, self.expected, self.reply.call(place).outputs
        right, plain, bounds = expected.outputs, expected.plain, expected.bounds
        if self.calls[place].values == "second":
            right, plain, bounds = expected.second, expected.plain_second, expected.bounds_second
        for name, want in right.items():
            value, dims = self.value_of(outputs.get(name)), case.dims[name]
            if value is None or value.shape != want.value.shape:
                return _missing(name, dims, tuple(want.value.shape), outputs.get(name))
            mismatch = compare_values(name, dims, case.sizes, want.value, value, bounds[name])
            if mismatch is not None:
                return mismatch
        for name, text in plain.items():
            got = outputs.get(name)
            if got is None or got.plain != case.plain[name]:
                return _wrong_type(name, case.plain[name], got)
            if got.text != text:
                is_text = got.plain == "str"
                wanted, actual = (repr(text), repr(got.text)) if is_text else (text, got.text)
                return Mismatch(name, "plain", expected_value=wanted, actual_value=actual)
        return None

    def gradient_mismatch(self, name: str) -> Mismatch | None:
        """Return the difference of a gradient from the expected one, or None.

        None also if the gradient is missing or has the wrong shape.
        """
        want, got = self.expected.gradients[name].value, self.gradient(name)
        if got is None or got.shape != want.shape:
            return None
        if name not in self._mismatches:
            bound = self.expected.gradient_bounds[name]
            self._mismatches[name] = compare_values(f"gradient of {name}", "", {}, want, got, bound)
        return self._mismatches[name]

    def gradients_under(self, output: str) -> Expected | None:
        """Return the reference's results with the same weights dropped as in the submission.

        None if there is nothing to compare.
        """
        value = self.value_of(self.reply.outputs.get(output))
        if value is None or value.shape != self.expected.outputs[output].value.shape:
            return None
        return self.prepared.reference.gradients_under(self.prepared, output, value)

    def agrees(self) -> bool:
        """Return whether all compared outputs and gradients are as expected."""
        if self.reply.failure is not None:
            return True
        if self.case.dropout is not None:
            for name in self.expected.outputs:
                self.gradients_under(name)  # the reference keeps the results for the checks
            return True
        if any(self.value_mismatch(place) for place in range(len(self.calls))):
            return False
        names = self.expected.gradients if self.case.dtype != "bfloat16" else ()
        return not any(self.gradient_mismatch(name) for name in names)

    def wrong_outputs(self) -> set[str]:
        """Return the names of the outputs of the first call that are not as expected."""
        outputs = {*self.expected.outputs, *self.expected.plain}
        wrong = {mismatch.tensor for mismatch in self.attribute_mismatches()}
        return outputs & (wrong | self._wrong_values)

    @cached_property
    def _wrong_values(self) -> set[str]:
        # To describe the differences takes long, and the diagnosis asks for many results.
        expected, outputs = self.expected, self.reply.outputs
        wrong: set[str] = set()
        for name, want in expected.outputs.items():
            value = self.value_of(outputs.get(name))
            is_right = (
                value is not None
                and value.shape == want.value.shape
                and not has_wrong_entry(want.value, value, expected.bounds[name])
            )
            if not is_right:
                wrong.add(name)
        for name, text in expected.plain.items():
            got = outputs.get(name)
            if got is None or (got.plain, got.text) != (self.case.plain[name], text):
                wrong.add(name)
        return wrong


class Comparison:
    """The results of one submission, next to the expected results. The checks read it.

    Args:
        worker_result: the worker's reply, and the way in which the worker ended.
        case_index: the index of the single graded case; None to grade all cases.
        loop: after a timeout, a sentence about the count that grows with the sizes.
    """

    def __init__(
        self,
        case_set: CaseSet,
        worker_result: WorkerResult,
        case_index: int | None = None,
        loop: str = "",
    ) -> None:
        self.case_set, self.worker_result, self.case_index = case_set, worker_result, case_index
        self.loop = loop
        self._compared: list[CaseResult] = []  # the results of all cases that have arrived
        self._agrees = True  # False after the first difference that `compare_ahead` found

    @property
    def reply(self) -> Reply:
        """The worker's reply."""
        return self.worker_result.reply

    @cached_property
    def results(self) -> list[CaseResult]:
        """The results of the graded cases that the worker has run, in order."""
        # A worker that ends without a complete reply has no results.
        arrived = self._arrived()[: len(self.reply.runs)]
        return [result for result in arrived if self.case_index in (None, result.index)]

    def result_of(self, index: int) -> CaseResult | None:
        """Return the result of a case; None if the case is not graded or was not run."""
        return next((result for result in self.results if result.index == index), None)

    def compare_ahead(self) -> None:
        """Compare the results received so far, while the worker is still running.

        Stop after the first mismatch: the checks that need the other results may be skipped.
        """
        ahead = len(self._compared)
        for result in self._arrived()[ahead:]:
            if self._agrees and self.case_index in (None, result.index):
                self._agrees = result.agrees()

    def _arrived(self) -> list[CaseResult]:
        # The worker may send more runs than there are cases.
        prepared, calls = self.case_set.prepared, self.case_set.calls
        for index in range(len(self._compared), min(len(self.reply.runs), len(prepared))):
            reply, tensors = self.reply.runs[index], self.worker_result.tensors
            result = CaseResult(index, prepared[index], reply, calls[index], tensors)
            self._compared.append(result)
        return self._compared


def _missing(name: str, dims: str, shape: tuple[int, ...], got: Returned | None) -> Mismatch:
    return Mismatch(name, "missing", dims, shape, actual_type=got.description if got else "nothing")


def _wrong_type(name: str, expected: str, got: Returned | None) -> Mismatch:
    actual = got.description if got else "nothing"
    return Mismatch(name, "type", expected_type=expected, actual_type=actual)


def frames_of(frames: list[FrameData]) -> tuple[Frame, ...]:
    """Return the frames of the learner's file, the outermost call first."""
    return tuple(Frame(frame.line, frame.function, frame.text) for frame in frames)


def in_words(failure: CallFailure) -> str:
    """Return an exception in words, e.g. `RuntimeError: …`."""
    if failure.type == "UnexpectedReturnError":
        return failure.message
    if failure.type == "SystemExit":
        return f"it called sys.exit({failure.message})"
    if failure.type == "NotImplementedError" and not failure.message.strip():
        return "NotImplementedError: this part is not written yet"
    return f"{failure.type}: {failure.message.strip()}".removesuffix(": ")
