"""What is known of one submission when the checks look at it."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import torch
from torch import Tensor

from trainer.comparing.compare import compare_values
from trainer.core.report import Frame, Mismatch
from trainer.core.words import Case, axes
from trainer.grading.exam import Exam, Expected
from trainer.grading.held_memory import Held
from trainer.running.protocol import Failure, FrameData, Reply, Returned, RunReply, name_of
from trainer.running.run import Ended


@dataclass(frozen=True)
class CaseEvidence:
    """One case: what was asked, what must come, what came."""

    number: int
    case: Case
    expected: Expected
    told: RunReply


class Evidence:
    """The worker's end and reply beside the exam; `only` restricts it to one case (counted from 0)."""

    def __init__(self, exam: Exam, ended: Ended, only: int | None = None) -> None:
        self.exam, self.ended, self.only = exam, ended, only
        self.held: Held | None = None  # what the kernel tells of its memory, where that was asked
        self.loop = ""  # of a submission whose time was over: which of its counts grows with the sizes, in a sentence
        self._compared: dict[tuple[int, int], Mismatch | None] = {}
        self._gradients: dict[tuple[int, str], Mismatch | None] = {}
        self._ran: dict[int, bool] = {}
        self._ahead = 0  # runs that were compared as they came

    @property
    def reply(self) -> Reply:
        """What the worker told."""
        return self.ended.reply

    @cached_property
    def cases(self) -> list[CaseEvidence]:
        """The cases that are graded, in order; none where the worker did not get so far."""
        told = self.reply.runs
        return [
            CaseEvidence(number, case, expected, told[number])
            for number, (case, expected) in enumerate(
                zip(self.exam.cases, self.exam.expected, strict=True)
            )
            if number < len(told) and self.only in (None, number)
        ]

    def likely(self) -> list[int]:
        """Of several assignments of layers, the numbers of those under which one case comes out right: no other can pass. [] where nobody has tried."""
        tried = self.ended.tried
        if tried is None or not 0 <= tried.number < len(self.exam.cases):
            return []
        one = CaseEvidence(
            tried.number,
            self.exam.cases[tried.number],
            self.exam.expected[tried.number],
            RunReply(),
        )
        return [
            place
            for place, told in enumerate(tried.outputs[: len(tried.assignments)])
            if self.value_mismatch(one, told) is None
        ]

    def compare_ahead(self) -> None:
        """Compare what has come so far, while the worker is still at work. After the first mismatch that waits: later checks may not be made at all."""
        for number in range(self._ahead, len(self.reply.runs)):
            if number >= len(self.exam.cases):
                return  # more runs than were asked for
            self._ahead = number + 1
            one = CaseEvidence(
                number, self.exam.cases[number], self.exam.expected[number], self.reply.runs[number]
            )
            if self.only in (None, number) and not self._agrees(one):
                self._ahead = len(self.exam.cases)
                return

    def _agrees(self, one: CaseEvidence) -> bool:
        """Whether all that was told of a case is as expected, so far as it is compared with the reference."""
        told = one.told
        if told.failure is not None:
            return True
        if one.case.dropout is not None:
            for name in one.expected.outputs:
                self.gradients_under(one, name)  # so that it is known when the checks ask
            return True
        calls = [(told.outputs, False)]
        names: tuple[str, ...] = ()
        if not one.case.probe:
            more = (
                (told.outputs_with_gradients, False),
                (told.outputs_once_more, False),
                (told.outputs_again, True),
            )
            calls += [(outputs, again) for outputs, again in more if outputs]
            names = tuple(one.expected.gradients) if one.case.dtype != "bfloat16" else ()
        if self._agree_at_once(one, calls, names):
            self._compared |= {(one.number, id(outputs)): None for outputs, _ in calls}
            self._gradients |= {(one.number, name): None for name in names}
            return True
        if any(
            self.value_mismatch(one, outputs, again=again) is not None for outputs, again in calls
        ):
            return False
        return all(self.gradient_mismatch(one, name) is None for name in names)

    def _agree_at_once(
        self,
        one: CaseEvidence,
        calls: Sequence[tuple[dict[str, Returned], bool]],
        names: tuple[str, ...],
    ) -> bool:
        """Whether everything is there, in one dtype, and within its bounds: that is known by one comparison, and so it is with most of what comes."""
        expected = one.expected
        pairs = [
            (value.value, self.value_of(outputs.get(name)))
            for outputs, again in calls
            for name, value in (expected.again if again else expected.outputs).items()
        ]
        pairs += [
            (expected.gradients[name].value, self.tensor(one.told.gradients.get(name, -1)))
            for name in names
        ]
        came = [
            tensor
            for want, tensor in pairs
            if tensor is not None and tensor.shape == want.shape and tensor.is_floating_point()
        ]
        row = expected.at_once(tuple(again for _, again in calls), names)
        if (
            row is None
            or len(came) < len(pairs)
            or any(tensor.dtype != came[0].dtype for tensor in came)
        ):
            return False
        return bool(
            (
                (
                    torch.cat([tensor.reshape(-1) for tensor in came]).to(torch.float64) - row[0]
                ).abs()
                <= row[1]
            ).all()
        )

    def gradient_mismatch(self, one: CaseEvidence, name: str) -> Mismatch | None:
        """How a gradient differs, by what it is of; None too where none of the right shape came."""
        key = (one.number, name)
        if key not in self._gradients:
            want, got = (
                one.expected.gradients[name].value,
                self.tensor(one.told.gradients.get(name, -1)),
            )
            if got is None or got.shape != want.shape:
                return None
            self._gradients[key] = compare_values(
                f"gradient of {name}", "", {}, want, got, one.expected.gradient_bounds[name]
            )
        return self._gradients[key]

    def gradients_under(self, one: CaseEvidence, output: str) -> Expected | None:
        """Return the reference's gradients under the dropout that an output shows.

        None if there is nothing to compare.
        """
        value = self.value_of(one.told.outputs_with_gradients.get(output))
        if value is None or value.shape != one.expected.outputs[output].value.shape:
            return None
        return self.exam.gradients_under(one.number, output, value)

    def tensor(self, number: int) -> Tensor | None:
        """A tensor of the reply by its number, if there is one."""
        return self.ended.tensors[number] if 0 <= number < len(self.ended.tensors) else None

    def value_of(self, returned: Returned | None) -> Tensor | None:
        """The tensor that came for an output, if it is what the reply says it is."""
        if returned is None:
            return None
        tensor = self.tensor(returned.tensor)
        return tensor if tensor is not None and list(tensor.shape) == returned.shape else None

    def attribute_mismatches(
        self, one: CaseEvidence, outputs: dict[str, Returned]
    ) -> Iterator[Mismatch]:
        """Missing outputs, wrong shapes, wrong dtypes and devices of one call."""
        for name, want in one.expected.outputs.items():
            got = outputs.get(name)
            shape = tuple(want.value.shape)
            if got is None or not (got.shape or got.dtype):
                yield Mismatch(
                    name,
                    "missing",
                    one.case.dims[name],
                    shape,
                    actual_type=got.what if got else "nothing",
                )
            elif tuple(got.shape) != shape:
                yield Mismatch(name, "shape", one.case.dims[name], shape, tuple(got.shape))
            elif (came := self._dtype_of(got)) != want.dtype:
                yield Mismatch(name, "dtype", one.case.dims[name], shape, shape, want.dtype, came)
            elif got.device != "cpu":
                yield Mismatch(name, "device", one.case.dims[name], shape, shape, "cpu", got.device)
        for name, kind in one.case.plain.items():
            got = outputs.get(name)
            if got is None or got.plain != kind:
                yield Mismatch(
                    name, "type", expected_type=kind, actual_type=got.what if got else "nothing"
                )

    def _dtype_of(self, got: Returned) -> str:
        """The dtype of the tensor that came; what the reply says of it only where none came."""
        tensor = self.tensor(got.tensor)
        return got.dtype if tensor is None else name_of(tensor.dtype)

    def value_mismatch(
        self, one: CaseEvidence, outputs: dict[str, Returned], *, again: bool = False
    ) -> Mismatch | None:
        """The first output of one call whose values are off; `again`: of the second call. Shapes must have been compared."""
        key = (
            one.number,
            id(outputs),
        )  # several checks ask of the same call; `outputs` lives as long as the reply
        if key not in self._compared:
            self._compared[key] = self._value_mismatch(one, outputs, again=again)
        return self._compared[key]

    def _value_mismatch(
        self, one: CaseEvidence, outputs: dict[str, Returned], *, again: bool
    ) -> Mismatch | None:
        bounds = one.expected.bounds_again if again else one.expected.bounds
        for name, want in (one.expected.again if again else one.expected.outputs).items():
            value = self.value_of(outputs.get(name))
            if value is None or value.shape != want.value.shape:
                got = outputs.get(name)
                return Mismatch(
                    name,
                    "missing",
                    one.case.dims[name],
                    tuple(want.value.shape),
                    actual_type=got.what if got else "nothing",
                )
            if found := compare_values(
                name, one.case.dims[name], one.case.sizes, want.value, value, bounds[name]
            ):
                return found
        for name, text in (one.expected.plain_again if again else one.expected.plain).items():
            got = outputs.get(name)
            if got is None or got.plain != one.case.plain[name]:
                return Mismatch(
                    name,
                    "type",
                    expected_type=one.case.plain[name],
                    actual_type=got.what if got else "nothing",
                )
            if got.text != text:
                shown = (repr(text), repr(got.text)) if got.plain == "str" else (text, got.text)
                return Mismatch(name, "plain", expected_value=shown[0], actual_value=shown[1])
        return None

    def ran(self, one: CaseEvidence) -> bool:
        """Whether the plain call of a case came back with outputs of the right shapes."""
        if one.number not in self._ran:
            wrong = (
                mismatch.kind in ("missing", "shape")
                for mismatch in self.attribute_mismatches(one, one.told.outputs)
            )
            self._ran[one.number] = one.told.failure is None and not any(wrong)
        return self._ran[one.number]

    def right(self, one: CaseEvidence) -> bool:
        """Whether the plain call of a case gave right values."""
        return self.ran(one) and (
            one.case.dropout is not None or self.value_mismatch(one, one.told.outputs) is None
        )


def frames_of(frames: list[FrameData]) -> tuple[Frame, ...]:
    """The learner's lines, outermost first."""
    return tuple(Frame(frame.line, frame.function, frame.text) for frame in frames)


def in_words(failure: Failure) -> str:
    """`RuntimeError: …`; exceptions that are no errors by name are explained."""
    if failure.type == "UnexpectedReturnError":
        return failure.message
    if failure.type == "SystemExit":
        return f"it called sys.exit({failure.message})"
    if failure.type == "NotImplementedError" and not failure.message.strip():
        return "NotImplementedError: this part is not written yet"
    return f"{failure.type}: {failure.message.strip()}".removesuffix(": ")


def name_shape(shape: tuple[int, ...], sizes: dict[str, int], dims: str = "") -> str:
    """`[B=2, L=7, M=48]`: each axis by its letter in `dims` where the size is that letter's.

    Axes that were moved, or stand where `dims` has none, are told by their sizes, which differ from each other.
    """
    letters = axes(dims)
    expected = tuple(_product(axis, sizes) for axis in letters)
    if len(shape) == len(expected) and (shape == expected or sorted(shape) != sorted(expected)):
        named = (
            f"{'·'.join(axis)}={size}" if size == want else str(size)
            for axis, size, want in zip(letters, shape, expected, strict=True)
        )
        return f"[{', '.join(named)}]"
    left = dict(sizes)  # a letter names one axis only: [5, 5] of Lq = Lk = 5 is [Lq=5, Lk=5]
    named_axes = []
    for size in shape:
        named_axes.append(
            _name_axis(size, left) if size in left.values() else _name_axis(size, sizes)
        )
        left.pop(named_axes[-1].partition("=")[0], None)
    return f"[{', '.join(named_axes)}]"


def _name_axis(size: int, sizes: dict[str, int]) -> str:
    if size == 1:
        return "1"
    for letter, value in sizes.items():
        if value == size:
            return f"{letter}={size}"
    for one, left in sizes.items():
        for other, right in sizes.items():
            if one < other and left * right == size and 1 not in (left, right):
                return f"{one}·{other}={size}"
    return str(size)


def _product(axis: tuple[str, ...], sizes: dict[str, int]) -> int:
    result = 1
    for letter in axis:
        result *= sizes[letter]
    return result


def shape_advice(expected: tuple[int, ...], actual: tuple[int, ...]) -> str:
    """Which permutation or reshape would have given the right shape, or ''."""
    if sorted(expected) == sorted(actual) and len(set(actual)) == len(actual):
        moved = [
            index
            for index, (one, other) in enumerate(zip(expected, actual, strict=True))
            if one != other
        ]
        if len(moved) == 2:
            return f"transpose({moved[0]}, {moved[1]}) would give the right shape"
        return f"permute({', '.join(str(actual.index(size)) for size in expected)}) would give the right shape"
    if len(expected) != len(actual) and [size for size in expected if size != 1] == [
        size for size in actual if size != 1
    ]:
        count = abs(len(expected) - len(actual))
        axes_of_one = "an axis of size 1 is" if count == 1 else f"{count} axes of size 1 are"
        return f"{axes_of_one} {'missing; unsqueeze puts one in' if len(actual) < len(expected) else 'too many; squeeze takes one out'}"
    if _count(expected) == _count(actual):
        return f"it has as many entries: heads may be left apart or merged wrongly (reshape to {list(expected)} from the right order of dims)"
    return ""


def _count(shape: tuple[int, ...]) -> int:
    result = 1
    for size in shape:
        result *= size
    return result
