"""The lesson after a pass: measured notes on the answer, and other right answers."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class CallCost:
    """The cost of one call of realistic size."""

    operations: int  # without views
    multiply_adds: int
    peak_bytes: int  # the most bytes of new tensors that are in use at once


@dataclass(frozen=True)
class Note:
    """A remark that an interviewer could make about an answer that passed."""

    line: int  # of the file; 0 if the remark belongs to no line
    says: str  # the measured fact
    why: str  # why the fact matters
    recommends: str = ""  # the name of a right answer that does better, or ""


@dataclass(frozen=True)
class OtherAnswer:
    """A right answer of the pack."""

    name: str  # "reference", or the name of its file without the suffix
    does: str  # the difference to the reference, in a sentence; "" for the reference
    costs: str  # its price, in words; "" for the reference
    source: str
    cost: CallCost | None = None  # None if it could not be measured


@dataclass(frozen=True)
class Lesson:
    """The lesson about one answer that passed."""

    call: str = ""  # the measured call in words, or "" if the challenge describes none
    own: CallCost | None = None  # None if it could not be measured
    notes: tuple[Note, ...] = ()  # the most important first
    others: tuple[OtherAnswer, ...] = ()  # the first is the reference
    is_measured: bool = True  # False if the answer did not run to its end
