"""Define the messages between a client and a grading server. Both sides are trusted.

A message is a length of 4 bytes and a body in msgpack. JSON cannot be used, because a report may
contain NaN and infinities. This module does not import torch, so a screen can read the replies.
"""

from __future__ import annotations

import math
import os
import select
import struct
import time
from typing import Any

import msgspec

from attn_drill.model.challenge import DEFAULT_LIMITS, Submission
from attn_drill.model.errors import DrillError, GraderError
from attn_drill.model.report import Lesson, Report, Trace
from attn_drill.model.tests_report import TestsReport
from attn_drill.packs.content_check import Item, Row

MOST_BYTES = 1 << 28  # of a message
_MOST_ROWS = 8  # rows and columns of a matrix that is sent
_LENGTH = struct.Struct("<I")
HEAD_BYTES = _LENGTH.size


class Hello(msgspec.Struct, tag=True, frozen=True):
    """The first message to a server. Before it, the server has forked its fork server."""

    packs: tuple[str, ...]  # folders; a challenge comes from the first pack that has it
    environment: dict[str, str]  # the environment variables of the user
    path: tuple[str, ...]  # the folders from which Python imports
    id: int = 0


class Prepare(msgspec.Struct, tag=True, frozen=True):
    """Announce the challenge of the next submission. There is no reply."""

    challenge: str
    id: int = 0


class Grade(msgspec.Struct, tag=True, frozen=True):
    """Grade a submission. The replies are verdicts, or a refusal."""

    challenge: str  # the id of the challenge
    submission: Submission
    seed: int | None = None  # of the cases; None for a fresh seed
    case: int | None = None  # the number of the only case to run, from 1; None for all cases
    id: int = 0  # copied to the replies
    is_early_wanted: bool = False  # whether a failure is first sent without its diagnosis, too
    is_shared: bool = False  # whether more submissions with this seed will follow
    # Digest of the challenge's folders; a server with another digest refuses. "" skips this
    # comparison.
    content: str = ""
    # Whether to refuse if the self-test of the sandbox fails on this machine.
    needs_isolation: bool = False
    seconds: float = DEFAULT_LIMITS.seconds  # limit of CPU time
    memory_mib: int = DEFAULT_LIMITS.memory_mib  # beyond the memory of torch itself
    planted: tuple[str, ...] = ()  # the ids of the mistakes that a bug hunt put into the file
    is_diagnosed: bool = True  # whether a failure is explained
    # Whether points follow from the report: it has the shares of the checks, and says if the named
    # mistake is the only one.
    is_for_points: bool = False


class TraceLines(msgspec.Struct, tag=True, frozen=True):
    """Trace a submission: return the result of every line with this seed."""

    challenge: str
    submission: Submission
    seed: int
    case: int | None = None  # its number, from 1; None for the first case that fails
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


class GradeTests(msgspec.Struct, tag=True, frozen=True):
    """Run a file of tests on right answers and on known mistakes."""

    challenge: str
    submission: Submission
    seed: int
    id: int = 0


class Ready(msgspec.Struct, tag=True, frozen=True):
    """The first reply: the server has imported torch and handles requests without delay."""


class Verdict(msgspec.Struct, tag=True, frozen=True):
    """A report. If the report is not final, the same report with a diagnosis follows."""

    id: int
    report: Report
    is_final: bool = True


class Traced(msgspec.Struct, tag=True, frozen=True):
    """The reply to `TraceLines`."""

    id: int
    trace: Trace


class Taught(msgspec.Struct, tag=True, frozen=True):
    """The reply to `Teach`."""

    id: int
    lesson: Lesson


class Checked(msgspec.Struct, tag=True, frozen=True):
    """The reply to `CheckItems`."""

    id: int
    rows: tuple[Row, ...]


class TestsGraded(msgspec.Struct, tag=True, frozen=True):
    """The reply to `GradeTests`."""

    __test__ = False  # for pytest: this is no class of tests

    id: int
    report: TestsReport


class Refused(msgspec.Struct, tag=True, frozen=True):
    """There is no verdict."""

    id: int  # of the request
    sentence: str  # the reason
    is_for_all: bool = False  # whether the server would refuse every other submission, too
    # Of a command that ends for this reason, as in `model.errors`.
    exit_code: int = GraderError.exit_code

    def error(self) -> DrillError | GraderError:
        """Return the refusal as an exception."""
        kind = DrillError if self.exit_code == DrillError.exit_code else GraderError
        return kind(self.sentence)


Request = Hello | Prepare | Grade | TraceLines | Teach | CheckItems | GradeTests
Reply = Ready | Verdict | Traced | Taught | Checked | TestsGraded | Refused
Message = Request | Reply


def refusal(reply: Reply) -> str:
    """Return the sentence that says why a reply has no verdict."""
    return reply.sentence if isinstance(reply, Refused) else "The grader gave no verdict."


def packed(message: Message) -> bytes:
    """Return the bytes of a message."""
    return msgspec.msgpack.encode(message, enc_hook=_rows_of)


def _rows_of(value: Any) -> Any:
    """Return a small matrix as lists of rows; None for any other tensor: it is not shown."""
    shape = getattr(value, "shape", None)
    is_small = shape is not None and len(shape) == 2 and max(shape) <= _MOST_ROWS
    return value.tolist() if is_small else None


def unpacked_request(body: bytes) -> Request:
    """Return the request that a client packed."""
    request: Request = msgspec.msgpack.decode(body, type=Request)
    return request


def unpacked_reply(body: bytes) -> Reply:
    """Return the reply that a server packed."""
    reply: Reply = msgspec.msgpack.decode(body, type=Reply)
    return reply


def body_length(head: bytes) -> int:
    """Return the length of the body behind a head; ValueError if it is longer than allowed."""
    (length,) = _LENGTH.unpack(head)
    if length > MOST_BYTES:
        raise ValueError(f"the message has {length} bytes, at most {MOST_BYTES} are allowed")
    return int(length)


def read_message(descriptor: int, deadline: float = math.inf) -> bytes | None:
    """Read the body of the next message; return None at the end of the stream.

    At the deadline, a time of `time.monotonic`, a TimeoutError is raised.
    """
    head = _read(descriptor, HEAD_BYTES, deadline)
    return None if head is None else _read(descriptor, body_length(head), deadline)


def _read(descriptor: int, count: int, deadline: float) -> bytes | None:
    received = bytearray()
    while len(received) < count:
        if deadline < math.inf:
            patience = max(0.0, deadline - time.monotonic())
            if not select.select([descriptor], [], [], patience)[0]:
                raise TimeoutError("the grading process does not reply")
        part = os.read(descriptor, min(count - len(received), 1 << 20))
        if not part:
            return None
        received += part
    return bytes(received)


def write_message(descriptor: int, message: Message) -> None:
    """Write a complete message: the length, then the body."""
    body = packed(message)
    data = memoryview(_LENGTH.pack(len(body)) + body)
    while data:
        data = data[os.write(descriptor, data) :]
