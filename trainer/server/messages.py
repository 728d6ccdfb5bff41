"""The messages between a client and a grading server. Both sides are ours.

A message is 4 bytes of length and msgpack. JSON would not do, because a report may hold NaN and
infinities. Nothing here imports torch, so a screen can read what the server says.
"""

from __future__ import annotations

import os
import struct
from typing import Any, Literal

import msgspec

from trainer.model.pack_rows import Item, Row
from trainer.model.report import Report, Trace
from trainer.model.submission import Submission

SECONDS = 10.0
MEMORY_MIB = 2048
MOST_BYTES = 1 << 28  # of a message
_MOST_ROWS = 8  # of a matrix that is sent
_LENGTH = struct.Struct("<I")
HEAD_BYTES = _LENGTH.size

# "own": the user's own file, which needs no isolation; "weaker": a weaker isolation is accepted.
IsolationNeed = Literal["own", "weaker", "full"]


class Prepare(msgspec.Struct, tag=True, frozen=True):
    """The next submission will answer this challenge. There is no reply."""

    challenge: str


class Grade(msgspec.Struct, tag=True, frozen=True):
    """Grade a submission. The replies are verdicts, or a refusal.

    id              comes back with the replies
    seed            None for a fresh seed
    case            only this case, by its number from 1; None for all
    is_early_wanted whether a failing verdict is sent before its diagnosis, and again with it
    is_shared       whether more submissions under this seed will come
    content         digest of the challenge's folders; a server with other content refuses; "" for any
    isolation       what the submission needs
    seconds         limit of CPU time
    memory_mib      limit of memory beyond torch's own
    """

    challenge: str
    submission: Submission
    seed: int | None = None
    case: int | None = None
    id: int = 0
    is_early_wanted: bool = False
    is_shared: bool = False
    content: str = ""
    isolation: IsolationNeed = "own"
    seconds: float = SECONDS
    memory_mib: int = MEMORY_MIB


class GradeReference(msgspec.Struct, tag=True, frozen=True):
    """Grade the reference: its report shows the checks that a right answer passes."""

    challenge: str
    seed: int
    id: int = 0


class TraceLines(msgspec.Struct, tag=True, frozen=True):
    """Tell the result of every line of a submission under a seed."""

    challenge: str
    submission: Submission
    seed: int
    id: int = 0


class CheckItems(msgspec.Struct, tag=True, frozen=True):
    """Check items of a challenge of the server's first pack, under all seeds."""

    challenge: str
    items: tuple[Item, ...]
    seeds: tuple[int, ...]
    id: int = 0


class Ready(msgspec.Struct, tag=True, frozen=True):
    """The server has imported torch and takes requests at once. It is the first reply."""


class Verdict(msgspec.Struct, tag=True, frozen=True):
    """A report. If it is not final, the same report with its diagnosis follows."""

    id: int
    report: Report
    is_final: bool = True


class Traced(msgspec.Struct, tag=True, frozen=True):
    """The trace of a submission."""

    id: int
    trace: Trace


class Checked(msgspec.Struct, tag=True, frozen=True):
    """The rows of the checked items."""

    id: int
    rows: tuple[Row, ...]


class Refused(msgspec.Struct, tag=True, frozen=True):
    """There is no verdict, and a sentence says why.

    is_for_all  no other submission will fare better
    """

    id: int
    sentence: str
    is_for_all: bool = False


Request = Prepare | Grade | GradeReference | TraceLines | CheckItems
Reply = Ready | Verdict | Traced | Checked | Refused
Message = Request | Reply


def packed(message: Message) -> bytes:
    """Return the bytes of a message. Only small matrices of tensors are kept: more is not shown."""
    return msgspec.msgpack.encode(message, enc_hook=rows_of)


def rows_of(value: Any) -> Any:
    """Return a small matrix as lists of rows, and None for any other tensor."""
    shape = getattr(value, "shape", None)
    is_small = shape is not None and len(shape) == 2 and max(shape) <= _MOST_ROWS
    return value.tolist() if is_small else None


def unpacked_request(body: bytes) -> Request:
    """Return the request that these bytes are."""
    request: Request = msgspec.msgpack.decode(body, type=Request)
    return request


def unpacked_reply(body: bytes) -> Reply:
    """Return the reply that these bytes are."""
    reply: Reply = msgspec.msgpack.decode(body, type=Reply)
    return reply


def framed(body: bytes) -> bytes:
    """Return a body with its length in front."""
    return _LENGTH.pack(len(body)) + body


def body_length(head: bytes) -> int:
    """Return the length of the body after these first bytes of a message.

    Raises:
        ValueError: if no message is so long.
    """
    (length,) = _LENGTH.unpack(head)
    if length > MOST_BYTES:
        raise ValueError(f"a message of {length} bytes")
    return int(length)


def read_message(descriptor: int) -> bytes | None:
    """Read the body of the next message; None at the end."""
    head = _read(descriptor, HEAD_BYTES)
    return None if head is None else _read(descriptor, body_length(head))


def _read(descriptor: int, count: int) -> bytes | None:
    parts: list[bytes] = []
    while count:
        part = os.read(descriptor, min(count, 1 << 20))
        if not part:
            return None
        parts.append(part)
        count -= len(part)
    return b"".join(parts)


def write_message(descriptor: int, message: Message) -> None:
    """Write all of a message."""
    data = memoryview(framed(packed(message)))
    while data:
        data = data[os.write(descriptor, data) :]
