"""The lesson after a pass: measured notes on the answer, and other right answers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CallCost:
    """The cost of one call of realistic size.

    Attributes:
        operations: the number of tensor operations, without views.
        multiply_adds: the number of multiply-adds.
        peak_bytes: the most bytes of new tensors that are in use at once.
    """

    operations: int
    multiply_adds: int
    peak_bytes: int


@dataclass(frozen=True)
class Note:
    """A remark that an interviewer could make about an answer that passed.

    Attributes:
        line: the line of the file, or 0 if the remark belongs to no line.
        says: the measured fact.
        why: one sentence on why the fact matters.
    """

    line: int
    says: str
    why: str


@dataclass(frozen=True)
class OtherAnswer:
    """A right answer of the pack.

    Attributes:
        name: "reference", or the name of its file without the suffix.
        does: the difference to the reference, in a sentence; "" for the reference.
        costs: its price, in words; "" for the reference.
        source: the text of the file.
        cost: the measured cost, or None if it could not be measured.
    """

    name: str
    does: str
    costs: str
    source: str
    cost: CallCost | None = None


@dataclass(frozen=True)
class Lesson:
    """The lesson about one answer that passed.

    Attributes:
        call: the measured call in words, or "" if the challenge describes none.
        own: the cost of the answer, or None if it could not be measured.
        notes: the remarks, the most important first.
        others: the right answers of the pack. The first is the reference.
        is_measured: False if the answer did not run to its end.
    """

    call: str = ""
    own: CallCost | None = None
    notes: tuple[Note, ...] = ()
    others: tuple[OtherAnswer, ...] = ()
    is_measured: bool = True
