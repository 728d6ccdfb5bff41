"""Give a worker one request and read its reply. Every size has a limit.

The kernel ends a worker whose CPU time is over, and this module a worker that sleeps for too long.
A worker that is gone has closed its pipes.
"""

from __future__ import annotations

import contextlib
import math
import os
import re
import select
import selectors
import signal
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal

import msgspec
from torch import Tensor

from attn_drill.model.challenge import SLEEP_FACTOR, Limits
from attn_drill.model.errors import GraderError
from attn_drill.model.report import Frame
from attn_drill.worker._forkserver import BROKEN_WORKER, NOT_CONFINED, OUT_OF_MEMORY
from attn_drill.worker.forkserver_client import ForkServer, WorkerEnd
from attn_drill.worker.protocol import (
    FILE,
    HEAD_BYTES,
    MOST_REPLY_BYTES,
    MOST_TENSORS,
    NOTE,
    PART,
    REPLY,
    ProtocolError,
    Reply,
    RunReply,
    SubmittedFile,
    decode,
    message,
    payload_bytes,
)

MOST_OUTPUT_BYTES = 1 << 20  # of the printed output, which are kept
MOST_PART_BYTES = 16 << 10  # kept of each call's output
_MOST_FAULT_BYTES = 16 << 10
_MOST_MESSAGES = 100_000
_MOST_RUNS = 1000
_PIPE_BYTES = 1 << 20  # the most bytes that a pipe of an ordinary system holds
_MARK = re.compile(rb"\0([a-z0-9]{0,9})\0")
# A worker sends several hundred messages. A wake-up for each message would take this core from
# other processes.
_PAUSE_SECONDS = 0.003
_BUSY_BYTES = 32 << 10  # after such a read there is no pause
_LAST_SECONDS = 1.0  # for an interrupted worker, and between two looks at a busy one
_MOST_SECONDS = 120.0  # beyond that, for a worker that neither ends nor sleeps
_READ_SECONDS = 120.0  # for a worker to read a message, on a very busy machine
# A line of a report of `faulthandler`, for a fault or for the signal that the time is over.
_FAULT = re.compile(
    r'File "(?P<path>[^"\n]{0,4096})", line (?P<line>\d{1,9}) in (?P<function>\S{1,100})'
)

How = Literal["replied", "timeout", "died", "garbage"]

_ENDS = {
    -signal.SIGKILL: (
        "the process was killed (the system does that when memory or CPU time runs out)"
    ),
    -signal.SIGSEGV: "the process crashed with a segmentation fault",
    OUT_OF_MEMORY: "it used all the memory that the limit allows",
    BROKEN_WORKER: (
        "the code that runs your file was broken from inside it (were all descriptors closed, "
        "or torch's functions replaced?)"
    ),
    0: "the process ended itself (os._exit?) before all cases had run",
}


class SupersededError(BaseException):
    """Raised if nobody wants the result any more, because another request has arrived.

    The class is no subclass of Exception, so that no handler treats it as an ordinary failure.
    """


@dataclass
class WorkerResult:
    """The result of a worker's run."""

    how: How  # "garbage" if the worker sent something else than a reply
    # The worker's reply; empty unless `how` is "replied".
    reply: Reply = field(default_factory=Reply)
    tensors: list[Tensor] = field(default_factory=list)
    reason: str = ""  # a sentence about the end, if `how` is "died" or "garbage"
    out_of_memory: bool = False
    took_too_much: bool = False  # the fork server ended it
    # The run that was in progress; -1 during the import of the file; None before.
    last_note: int | None = None
    # The printed output by part: `import`, or the index of a run.
    printed: Mapping[str, str] = field(default_factory=dict)
    flooded: int = 0  # printed bytes that were not kept
    # The lines of the submission that a fault report names, outermost first.
    frames: tuple[Frame, ...] = ()
    seconds: float = 0.0  # the limit
    slept: bool = False  # a timeout without use of its CPU time
    # The runs that arrived before the end, if no reply came.
    partial: list[RunReply] = field(default_factory=list)
    cpu: float = 0.0  # seconds


class _Printed:
    """The printed output of a worker, read from its pipe. Only the first part is kept.

    Attributes:
        flooded: the count of bytes that were not kept.
    """

    def __init__(self, pipe: int) -> None:
        self.flooded = 0
        self._pipe = pipe
        self._kept = bytearray()

    @property
    def bytes_so_far(self) -> int:
        """How many bytes have arrived."""
        return len(self._kept) + self.flooded

    def read(self, most: float = math.inf) -> bool:
        """Read what is in the pipe, up to about `most` bytes; return False at its end."""
        read = 0
        while read < most:
            try:
                part = os.read(self._pipe, 1 << 16)
            except BlockingIOError:
                return True
            if not part:
                return False
            read += len(part)
            kept = part[: MOST_OUTPUT_BYTES - len(self._kept)]
            self._kept += kept
            self.flooded += len(part) - len(kept)
        return True

    def text(self) -> str:
        """Return the kept output without marks."""
        return _MARK.sub(b"", bytes(self._kept)).decode("utf-8", "replace").strip()

    def parts(self) -> dict[str, str]:
        """Return the output split at the worker's marks: `import`, or the index of a run."""
        pieces: dict[str, bytes] = {}
        part = "import"
        for position, piece in enumerate(_MARK.split(bytes(self._kept))):
            if position % 2:
                part = piece.decode("ascii")
            elif part:
                pieces[part] = (pieces.get(part, b"") + piece)[: MOST_PART_BYTES + 1]
        texts = {part: piece.decode("utf-8", "replace") for part, piece in pieces.items()}
        for part, text in texts.items():
            if len(text) > MOST_PART_BYTES:
                texts[part] = text[:MOST_PART_BYTES] + "\n… cut here"
        return texts


class WorkerRun:
    """The grader's side of one worker.

    The worker prepares itself, and starts to work when it gets a file. The grader can do other
    things until it calls `finish`.

    Args:
        frame: the encoded request, or None for the preloaded request.
        rehearsed: True if the file comes later, so that the worker has time to rehearse.

    Attributes:
        result: the result, as far as it is known.
    """

    def __init__(
        self,
        fork_server: ForkServer,
        frame: bytes | None,
        limits: Limits,
        *,
        rehearsed: bool = False,
    ) -> None:
        self._fork_server, self._limits = fork_server, limits
        self._worker = fork_server.start_worker(
            limits, preloaded=frame is None, rehearsed=rehearsed
        )
        for descriptor in self._worker.pipes:
            os.set_blocking(descriptor, False)
        self._printed = _Printed(self._worker.output)
        self._file_name = ""
        self._started = time.monotonic()
        self._is_interrupted = False  # it slept for too long
        self._buffer = bytearray()
        self._received = self._message_count = 0
        self._note: int | None = None
        self._more: Callable[[], object] = lambda: None
        self.result = WorkerResult("died", seconds=limits.seconds)
        if frame is not None:
            self._send(REPLY, frame)

    def submit(self, file: SubmittedFile) -> None:
        """Send the learner's file to the worker."""
        self._file_name, self._started = file.name, time.monotonic()
        self._send(FILE, msgspec.json.encode(file))

    def _send(self, kind: bytes, payload: bytes) -> None:
        """Send a whole message. The worker waits for the message, and so reads all of it."""
        rest, requests = memoryview(message(kind, payload)), self._worker.requests
        deadline = time.monotonic() + _READ_SECONDS
        with contextlib.suppress(OSError):  # the worker died; `finish` finds out how
            while rest and time.monotonic() < deadline:
                select.select([], [requests], [], 1.0)
                with contextlib.suppress(BlockingIOError):
                    rest = rest[os.write(requests, rest) :]

    def finish(
        self,
        interrupt: int | None = None,
        more: Callable[[], object] = lambda: None,
    ) -> WorkerResult:
        """Wait for the reply or the worker's death, then end the worker and its descendants.

        Args:
            interrupt: a descriptor. As soon as it is readable, the wait ends with an error.
            more: is called whenever `result` contains more runs. If no valid reply follows, these
                runs move to `partial`.

        Raises:
            SupersededError: if the descriptor `interrupt` is readable.
            ForkServerLostError: if the fork server is gone.
            GraderError: if the kernel refused to confine the worker.
        """
        self._more, result = more, self.result
        how: How = "timeout"  # after an error, the worker is not ending by itself
        try:
            how, result.reason = self._read(interrupt)
        finally:
            end = self._end_worker(how)
        result.cpu, result.took_too_much = end.cpu, bool(end.ended_for)
        # The kernel ended it. The CPU time of a worker includes its preparation, so the signal must
        # be one of the kernel's.
        has_used_its_time = (
            not end.ended_for
            and -end.code in (signal.SIGXCPU, signal.SIGKILL)
            and end.cpu >= self._limits.seconds
        )
        if how == "died" and (has_used_its_time or self._is_interrupted):
            how = "timeout"
        if how == "timeout":
            result.slept = not has_used_its_time
        elif how == "died":
            # Before its first note, a worker has not run the submission.
            if self._note is None and end.code == NOT_CONFINED:
                raise GraderError(
                    f"No worker can be confined on this machine: {self._printed.text()}. "
                    "Run `attn-drill doctor` to see what holds here."
                )
            result.reason = _how_it_died(end)
            result.out_of_memory = result.reason == _ENDS[OUT_OF_MEMORY]
        if how != "replied":
            result.partial, result.reply, result.tensors = result.reply.runs, Reply(), []
        result.how, result.last_note = how, self._note
        result.printed, result.flooded = self._printed.parts(), self._printed.flooded
        return result

    def stop(self) -> None:
        """End the worker and its descendants, if the reply is no longer needed."""
        try:
            self._fork_server.end_worker(self._worker.pid, patiently=False)
        finally:
            self._worker.close_pipes()

    def _end_worker(self, how: How) -> WorkerEnd:
        """End the worker and its descendants, and read the rest of its printed output."""
        try:
            # All output that was printed before the reply is in the pipe.
            self._printed.read(_PIPE_BYTES)
            end = self._fork_server.end_worker(self._worker.pid, patiently=how == "died")
            self._printed.read()
            self.result.frames = self._frames_of_fault()
            return end
        finally:
            self._worker.close_pipes()

    def _read(self, interrupt: int | None) -> tuple[How, str]:
        """Read messages and output until the reply has come or the worker has ended.

        Return how the wait ended, and the reason if the worker sent something else than messages.
        """
        output, replies = self._worker.output, self._worker.replies
        with selectors.DefaultSelector() as selector:
            for descriptor in (replies, output, *(() if interrupt is None else (interrupt,))):
                selector.register(descriptor, selectors.EVENT_READ)
            end_of_patience = self._started + SLEEP_FACTOR * self._limits.seconds
            end_of_all_patience = end_of_patience + _MOST_SECONDS
            while True:
                if (seconds_left := end_of_patience - time.monotonic()) <= 0:
                    if self._is_interrupted or time.monotonic() > end_of_all_patience:
                        return "timeout", ""
                    # A worker that does not sleep now may have waited for a core.
                    self._is_interrupted = self._fork_server.interrupt(self._worker.pid)
                    end_of_patience = time.monotonic() + _LAST_SECONDS
                    continue
                bytes_before = self._received + self._printed.bytes_so_far
                ready = {key.fd for key, _ in selector.select(seconds_left)}
                if interrupt in ready:
                    raise SupersededError
                if output in ready and not self._printed.read(_PIPE_BYTES):
                    selector.unregister(output)
                if replies in ready:
                    try:
                        part = os.read(replies, 1 << 20)
                        self._buffer += part
                        self._received += len(part)
                        if self._take_messages():
                            return "replied", ""
                    except BlockingIOError:
                        continue
                    except ProtocolError as error:
                        return "garbage", str(error)
                    if not part:
                        return "died", ""
                # A worker that sends much is waiting for space in the pipe.
                new_bytes = self._received + self._printed.bytes_so_far - bytes_before
                if ready and new_bytes < _BUSY_BYTES:
                    time.sleep(_PAUSE_SECONDS)

    def _take_messages(self) -> bool:
        """Take complete messages from the buffer; return True when the reply has arrived."""
        while len(self._buffer) >= HEAD_BYTES:
            kind, length = bytes(self._buffer[:1]), payload_bytes(self._buffer)
            most = {NOTE: 32, PART: MOST_REPLY_BYTES, REPLY: MOST_REPLY_BYTES}.get(kind, -1)
            if length > most or self._received > MOST_REPLY_BYTES + _MOST_MESSAGES * 32:
                raise ProtocolError(f"a message of kind {kind!r} and {length} bytes")
            if len(self._buffer) < HEAD_BYTES + length:
                return False
            payload = bytes(self._buffer[HEAD_BYTES : HEAD_BYTES + length])
            del self._buffer[: HEAD_BYTES + length]
            if kind == NOTE:
                self._message_count += 1
                is_readable = re.fullmatch(rb"-?\d{1,9}", payload)
                if self._message_count > _MOST_MESSAGES or not is_readable:
                    raise ProtocolError("an unreadable note")
                self._note = int(payload)
                continue
            reply, tensors = decode(payload, Reply)
            runs, all_tensors = self.result.reply.runs, self.result.tensors
            runs += reply.runs
            all_tensors += tensors
            if len(runs) > _MOST_RUNS or len(all_tensors) > MOST_TENSORS:
                raise ProtocolError(f"{len(runs)} runs and {len(all_tensors)} tensors")
            if kind == REPLY:
                reply.runs = runs
                self.result.reply = reply
                return True
            self._more()
        return False

    def _frames_of_fault(self) -> tuple[Frame, ...]:
        """Return the submission's lines in the report of `faulthandler`, outermost first."""
        try:
            text = os.read(self._worker.faults, _MOST_FAULT_BYTES).decode("utf-8", "replace")
        except BlockingIOError:
            return ()
        matches = [
            match
            for match in _FAULT.finditer(text)
            if os.path.basename(match["path"]) == os.path.basename(self._file_name)
        ]
        return tuple(
            Frame(int(match["line"]), match["function"], "") for match in reversed(matches[:8])
        )


def _how_it_died(end: WorkerEnd) -> str:
    """Return a sentence about a worker that died without a reply."""
    if end.ended_for:
        return end.ended_for
    if end.killed:
        return "the process closed its channel to the grader and gave no result"
    if end.code in _ENDS:
        return _ENDS[end.code]
    if end.code < 0:
        return f"the process was ended by a signal ({signal.strsignal(-end.code)})"
    return f"the process ended itself with exit code {end.code} before all cases had run"
