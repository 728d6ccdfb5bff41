"""Define the messages between a client and a grading server. Both sides are trusted.

A message is a length of 4 bytes and a body in msgpack. JSON cannot be used, because a report may
contain NaN and infinities. This module does not import torch, so a screen can read the replies.
"""

from __future__ import annotations

import os
import struct
from typing import Any, Literal

import msgspec

from trainer.model.lesson import Lesson
from trainer.model.pack_rows import Item, Row
from trainer.model.report import Report, Trace
from trainer.model.submission import Submission

SECONDS = 10.0  # default limit of CPU time
MEMORY_MIB = 2048  # default limit of memory
MOST_BYTES = 1 << 28  # of a message
_MOST_ROWS = 8  # rows and columns of a matrix that is sent
_LENGTH = struct.Struct("<I")
HEAD_BYTES = _LENGTH.size

# "own": the user's own file, which needs no isolation. "weaker": weaker isolation is accepted.
# "tested": another server of the same pool has passed the test of the isolation.
IsolationNeed = Literal["own", "weaker", "full", "tested"]


class Prepare(msgspec.Struct, tag=True, frozen=True):
    """Announce the challenge of the next submission. There is no reply."""

    challenge: str


class Grade(msgspec.Struct, tag=True, frozen=True):
    """Grade a submission. The replies are verdicts, or a refusal.

    Attributes:
        challenge: the id of the challenge.
        submission: the submission to grade.
        seed: of the cases; None for a fresh seed.
        case: the number of the only case to run, from 1; None for all cases.
        id: copied to the replies.
        is_early_wanted: whether a failing verdict is sent twice, first without its diagnosis.
        is_shared: whether more submissions with this seed will follow.
        content: digest of the challenge's folders; a server with another digest refuses. "" skips
            this comparison.
        isolation: the isolation that the submission needs.
        seconds: limit of CPU time.
        memory_mib: limit of memory in MiB, in addition to torch's own memory.
        planted: the ids of the mistakes that a bug hunt put into the file.
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
    planted: tuple[str, ...] = ()


class CheckIsolation(msgspec.Struct, tag=True, frozen=True):
    """Test if submissions with this need of isolation may be graded on this machine.

    The reply is `Isolated`, or a refusal with the reason.
    """

    isolation: IsolationNeed
    id: int = 0


class GradeReference(msgspec.Struct, tag=True, frozen=True):
    """Grade the reference. Its report shows the checks that a right answer passes."""

    challenge: str
    seed: int
    id: int = 0


class TraceLines(msgspec.Struct, tag=True, frozen=True):
    """Trace a submission: return the result of every line with this seed."""

    challenge: str
    submission: Submission
    seed: int
    id: int = 0


class Teach(msgspec.Struct, tag=True, frozen=True):
    """Measure a submission that has passed, and the right answers of the pack."""

    challenge: str
    submission: Submission
    seed: int
    id: int = 0


class CheckItems(msgspec.Struct, tag=True, frozen=True):
    """Check items of a challenge of the server's first pack with all seeds."""

    challenge: str
    items: tuple[Item, ...]
    seeds: tuple[int, ...]
    id: int = 0


class Ready(msgspec.Struct, tag=True, frozen=True):
    """The first reply: the server has imported torch and handles requests without delay."""


class Isolated(msgspec.Struct, tag=True, frozen=True):
    """The isolation of this machine is as good as needed."""

    id: int


class Verdict(msgspec.Struct, tag=True, frozen=True):
    """A report. If the report is not final, the same report with a diagnosis follows."""

    id: int
    report: Report
    is_final: bool = True


class Traced(msgspec.Struct, tag=True, frozen=True):
    """The trace of a submission."""

    id: int
    trace: Trace


class Taught(msgspec.Struct, tag=True, frozen=True):
    """The lesson about a submission that passed."""

    id: int
    lesson: Lesson


class Checked(msgspec.Struct, tag=True, frozen=True):
    """The rows of the checked items."""

    id: int
    rows: tuple[Row, ...]


class Refused(msgspec.Struct, tag=True, frozen=True):
    """There is no verdict.

    Attributes:
        id: of the request.
        sentence: the reason.
        is_for_all: whether the server would refuse every other submission, too.
    """

    id: int
    sentence: str
    is_for_all: bool = False


Request = Prepare | Grade | CheckIsolation | GradeReference | TraceLines | Teach | CheckItems
Reply = Ready | Isolated | Verdict | Traced | Taught | Checked | Refused
Message = Request | Reply


def refusal(reply: Reply) -> str:
    """Return the reason why a reply has no verdict, in one sentence."""
    return reply.sentence if isinstance(reply, Refused) else "The grader gave no verdict."


def packed(message: Message) -> bytes:
    """Return the bytes of a message. Only small matrices are kept, because others are not shown."""
    return msgspec.msgpack.encode(message, enc_hook=rows_of)


def rows_of(value: Any) -> Any:
    """Return a small matrix as lists of rows, and None for any other tensor."""
    shape = getattr(value, "shape", None)
    is_small = shape is not None and len(shape) == 2 and max(shape) <= _MOST_ROWS
    return value.tolist() if is_small else None


def unpacked_request(body: bytes) -> Request:
    """Return the request in the body of a message."""
    request: Request = msgspec.msgpack.decode(body, type=Request)
    return request


def unpacked_reply(body: bytes) -> Reply:
    """Return the reply in the body of a message."""
    reply: Reply = msgspec.msgpack.decode(body, type=Reply)
    return reply


def framed(body: bytes) -> bytes:
    """Return a complete message: the length, then the body."""
    return _LENGTH.pack(len(body)) + body


def body_length(head: bytes) -> int:
    """Return the length of a body.

    Args:
        head: the first bytes of the message.

    Raises:
        ValueError: if the message is longer than allowed.
    """
    (length,) = _LENGTH.unpack(head)
    if length > MOST_BYTES:
        raise ValueError(f"the message has {length} bytes, at most {MOST_BYTES} are allowed")
    return int(length)


def read_message(descriptor: int) -> bytes | None:
    """Read the body of the next message; return None at the end of the stream."""
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
    """Write a complete message."""
    data = memoryview(framed(packed(message)))
    while data:
        data = data[os.write(descriptor, data) :]
