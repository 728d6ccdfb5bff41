"""What travels between a session and its grading process: orders one way, answers the other. Both sides are ours.

A message is 4 bytes of length and msgpack. Not JSON: a report may hold NaN and infinities. Nothing here imports torch, so that the screen can read
what the grader says.
"""

from __future__ import annotations

import os
import struct
from typing import Any

import msgspec

from trainer.core.report import Report, Trace


class Grade(msgspec.Struct, tag=True, frozen=True):
    """Grade this text. `number` comes back with the answers; without a seed it is a fresh one. A later order supersedes it."""

    number: int
    challenge: str
    file: str
    source: str
    seed: int | None = None


class Look(msgspec.Struct, tag=True, frozen=True):
    """Tell what every line of this text makes under this seed."""

    number: int
    challenge: str
    file: str
    source: str
    seed: int


class Prepare(msgspec.Struct, tag=True, frozen=True):
    """The next text will be of this challenge."""

    challenge: str


class Ready(msgspec.Struct, tag=True, frozen=True):
    """The grader is warm: what comes is graded at once."""


class Verdict(msgspec.Struct, tag=True, frozen=True):
    """A report. `final`: nothing more will be said of it; else where and why are looked for now."""

    number: int
    report: Report
    final: bool


class Traced(msgspec.Struct, tag=True, frozen=True):
    """A trace."""

    number: int
    trace: Trace


class Refused(msgspec.Struct, tag=True, frozen=True):
    """No verdict, and why, in a sentence."""

    number: int
    sentence: str


Order = Grade | Look | Prepare
Answer = Ready | Verdict | Traced | Refused
_LENGTH = struct.Struct("<I")


def packed(message: Order | Answer) -> bytes:
    """The bytes of a message. Of tensors only small matrices are kept, as lists of rows: more is not shown."""
    return framed(msgspec.msgpack.encode(message, enc_hook=rows_of))


def framed(body: bytes) -> bytes:
    """A body with its length before it."""
    return _LENGTH.pack(len(body)) + body


def rows_of(value: Any) -> Any:
    """A small matrix as lists of rows, None for any other tensor."""
    shape = getattr(value, "shape", None)
    return value.tolist() if shape is not None and len(shape) == 2 and max(shape) <= 8 else None


def unpacked_order(body: bytes) -> Order:
    """The order that these bytes are."""
    order: Order = msgspec.msgpack.decode(body, type=Order)
    return order


def unpacked_answer(body: bytes) -> Answer:
    """The answer that these bytes are."""
    answer: Answer = msgspec.msgpack.decode(body, type=Answer)
    return answer


def read_message(descriptor: int) -> bytes | None:
    """The next message's body, or None at the end."""
    head = _read(descriptor, _LENGTH.size)
    return None if head is None else _read(descriptor, _LENGTH.unpack(head)[0])


def write_message(descriptor: int, message: Order | Answer) -> None:
    """Write all of a message."""
    write_all(descriptor, packed(message))


def write_all(descriptor: int, frame: bytes) -> None:
    """Write all of these bytes."""
    data = memoryview(frame)
    while data:
        data = data[os.write(descriptor, data) :]


def _read(descriptor: int, count: int) -> bytes | None:
    parts: list[bytes] = []
    while count:
        part = os.read(descriptor, min(count, 1 << 20))
        if not part:
            return None
        parts.append(part)
        count -= len(part)
    return b"".join(parts)
