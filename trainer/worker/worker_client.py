"""Give a worker one request and read its reply. Every size has a limit.

The fork server ends a worker whose time is over, so this module needs no exact timing. A worker
that is gone has closed its pipes.
"""

from __future__ import annotations

import contextlib
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

from trainer.model.report import Frame
from trainer.worker.channel import HEAD_BYTES, payload_bytes
from trainer.worker.forkserver import BROKEN_WORKER, OUT_OF_MEMORY
from trainer.worker.forkserver_client import ForkServer, ForkServerLostError, Limits, WorkerEnd
from trainer.worker.protocol import (
    COUNT,
    FILE,
    MOST_REPLY_BYTES,
    MOST_TENSORS,
    NOTE,
    PART,
    READY,
    REPLY,
    Counted,
    Counts,
    ProtocolError,
    Reply,
    ReplyPart,
    RunReply,
    SubmittedFile,
    TriedAssignments,
    decode,
    message,
)

MOST_OUTPUT_BYTES = 1 << 20  # the first part of the printed output, which is kept
MOST_PART_BYTES = 16 << 10  # kept of each call's output, and of the end, which may report a fault
_MOST_MESSAGES = 100_000
_MOST_RUNS = 1000
_MOST_COUNT_BYTES = 2000
_MOST_MODES = 8  # a run is counted in at most this many modes
_PIPE_BYTES = 1 << 20  # the most bytes that a pipe of an ordinary system holds
_MARK = re.compile(rb"\0([a-z0-9]{0,9})\0")
_BUSY_BYTES = 32 << 10  # after a read of this many bytes, the grader reads on without a pause
# The grader gives up after this many times the limit, plus the seconds below. This is longer than
# the fork server lets any worker live, even on a machine that is suspended from time to time.
_DEADLINE_FACTOR = 40
_DEADLINE_SECONDS = 120.0
# `faulthandler` writes one of these lines above the lines of a file: for a fault, or for the signal
# that the worker's time is over.
_FAULT_HEAD = (
    r"Fatal Python error: |Stack \(most recent call first\):|Current thread 0x[0-9a-f]{6,16}\b"
)
_FAULT = re.compile(
    r'File "(?P<path>[^"\n]{0,4096})", line (?P<line>\d{1,9}) in (?P<function>\S{1,100})'
)


class SupersededError(BaseException):
    """Raised if nobody wants the result any more, because another request has arrived.

    The class is no subclass of Exception, so that no handler treats it as an ordinary failure.
    """


How = Literal["replied", "timeout", "died", "garbage", "lost", "stopped"]


@dataclass
class WorkerResult:
    """The result of a worker's run.

    Attributes:
        how: how the run ended: "replied"; "timeout"; "died"; "garbage" if the worker sent something
            else than a reply; "lost" if the fork server was gone, and the worker with it; "stopped"
            if the grader ended the worker because it knew enough.
        reply: the worker's reply; empty unless `how` is "replied".
        tensors: the tensors of the reply.
        reason: a sentence about the end, if `how` is "died" or "garbage".
        out_of_memory: True if the worker died because attn-drill's own code found no free memory.
        last_note: the index of the run that was in progress; -1 during the import of the file; None
            before the import.
        printed: the printed output by part: `import`, or the index of a run.
        flooded: the count of printed bytes that were not kept.
        frames: the lines of the submission that a fault report names, outermost first.
        tried: the outputs of one case under several assignments of layers, if the worker sent them.
        seconds: the limit of the worker's CPU time.
        slept: for a timeout, True if the worker slept instead of using up its CPU time.
        partial: the runs that arrived before the end, if no reply came.
        most_bytes: the worker's peak memory in bytes, if the grader waited for its end.
        cpu: the CPU seconds that the worker used, if the grader waited for its end.
    """

    how: How
    reply: Reply = field(default_factory=Reply)
    tensors: list[Tensor] = field(default_factory=list)
    reason: str = ""
    out_of_memory: bool = False
    last_note: int | None = None
    printed: Mapping[str, str] = field(default_factory=dict)
    flooded: int = 0
    frames: tuple[Frame, ...] = ()
    tried: TriedAssignments | None = None
    seconds: float = 0.0
    slept: bool = False
    partial: list[RunReply] = field(default_factory=list)
    most_bytes: int = 0
    cpu: float = 0.0


class WorkerRun:
    """The grader's side of one worker.

    The worker prepares itself, and starts to work when it gets a file. The grader can do other
    things until it calls `finish`.

    Args:
        fork_server: the fork server that forks the worker.
        frame: the encoded request, or None for the preloaded request.
        limits: the limits of the run.
        rehearsed: True if the file comes later, so that the worker has time to rehearse.
        measured: True if the grader waits for the worker's end, so that the kernel reports the
            worker's peak memory.

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
        measured: bool = False,
    ) -> None:
        self._fork_server, self._limits, self._measured = fork_server, limits, measured
        self._pid, self._requests, self._replies, self._output = fork_server.start_worker(
            limits, preloaded=frame is None, rehearsed=rehearsed, measured=measured
        )
        self._file_name = ""
        self._deadline = time.monotonic() + _DEADLINE_FACTOR * limits.seconds + _DEADLINE_SECONDS
        self._buffer = bytearray()
        self._printed = bytearray()
        self._end = b""
        self._flooded = 0
        self._note: int | None = None
        self._counts: dict[int, list[Counts]] = {}
        self._message_count = 0
        self.result = WorkerResult("died", seconds=limits.seconds)
        self._bytes = 0
        self._received = 0
        self._more: Callable[[], bool] | None = None
        self._is_enough = False
        self._reply: bytes | None = None
        for descriptor in (self._requests, self._replies, self._output):
            os.set_blocking(descriptor, False)
        if frame is not None:
            self._send(REPLY, frame)

    def submit(self, file: SubmittedFile) -> None:
        """Send the learner's file to the worker. The worker's time counts from now on."""
        self._file_name = file.name
        self._deadline = (
            time.monotonic() + _DEADLINE_FACTOR * self._limits.seconds + _DEADLINE_SECONDS
        )
        self._fork_server.start_clock(self._pid)
        self._send(FILE, msgspec.json.encode(file))

    def _send(self, kind: bytes, payload: bytes) -> None:
        """Send a whole message. The worker waits for the message, and so reads all of it."""
        rest = memoryview(message(kind, payload))
        with contextlib.suppress(OSError):  # the worker died; `finish` finds out how
            while rest and time.monotonic() < self._deadline:
                select.select([], [self._requests], [], 1.0)
                with contextlib.suppress(BlockingIOError):
                    rest = rest[os.write(self._requests, rest) :]

    def finish(
        self,
        interrupt: int | None = None,
        more: Callable[[], bool] | None = None,
        poll_interval: float = 0.0,
    ) -> WorkerResult:
        """Wait for the reply or the worker's death, then end the worker and its descendants.

        Args:
            interrupt: a descriptor. As soon as it is readable, the wait ends with an error.
            more: is called whenever `result` contains more runs. If it returns True, the worker is
                stopped. If no valid reply follows, these runs move to `partial`.
            poll_interval: seconds to wait between two reads. A worker sends several hundred
                messages, and a wake-up for each message takes this core from other processes.

        Raises:
            SupersededError: if the descriptor `interrupt` is readable.
            ForkServerLostError: if the fork server is gone, or did not end a worker whose time was
                over.
        """
        how: How = "died"
        reason = ""
        self._more = more
        try:
            how = self._wait(interrupt, poll_interval)
        except ProtocolError as error:
            how, reason = "garbage", str(error)
        except BaseException:
            how = "timeout"  # the worker is not ending by itself
            raise
        finally:
            os.close(self._replies)
            os.close(self._requests)
            try:
                end = self._end_worker(how)
            finally:
                os.close(self._output)
        result = self.result
        result.how, result.reason = how, reason
        result.most_bytes, result.cpu = end.most_bytes, end.cpu
        if self._reply is not None:
            try:
                self._complete(self._reply)
            except ProtocolError as error:
                result.how, result.reason = "garbage", str(error)
        elif how == "died" and end.out_of:
            result.how, result.slept = "timeout", end.out_of == "sleep"
        elif how == "died":
            result.reason, result.out_of_memory = _how_it_died(end)
        if result.how != "replied":
            result.partial, result.reply, result.tensors = result.reply.runs, Reply(), []
        result.last_note = self._note
        result.flooded = self._flooded
        result.frames = self._frames_of_fault(
            (self._printed + self._end).decode("utf-8", "replace")
        )
        result.printed = _parts(bytes(self._printed))
        return result

    def _take_part(self, payload: bytes) -> None:
        """Add the runs of a partial reply to the result."""
        part, tensors = decode(payload, ReplyPart)
        self._add_runs(part.runs, tensors)
        self.result.tried = self.result.tried or part.tried
        if self._more is not None and self._more():
            self._is_enough = True

    def _complete(self, payload: bytes) -> None:
        """Combine the last message of the reply with the parts before it."""
        reply, tensors = decode(payload, Reply)
        self._add_runs(reply.runs, tensors)
        reply.runs = self.result.reply.runs
        self.result.reply = reply

    def _take_counts(self, payload: bytes) -> None:
        """Keep the counts of a call.

        A second message for the same call means that the submission also writes counts.
        """
        try:
            counted = msgspec.json.decode(payload, type=Counted)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise ProtocolError(f"unreadable counts: {error}") from None
        earlier = self._counts.setdefault(counted.run, [])
        mode = (counted.counts.training, counted.counts.gradients)
        if len(earlier) >= _MOST_MODES or mode in [
            (known.training, known.gradients) for known in earlier
        ]:
            counted = Counted(counted.run, Counts(tampered="the counts of one call arrived twice"))
        earlier.append(counted.counts)

    def _use_sent_counts(self, first_index: int, runs: list[RunReply]) -> None:
        """Give each run the counts that were sent right after it.

        If the reply contains other counts, the submission has changed them since.
        """
        for run_index, run in enumerate(runs, first_index):
            sent = self._counts.get(run_index, [])
            if run.counts != sent:
                sent = [*sent, Counts(tampered="counts were changed after they were sent")]
            run.counts = sent

    def _add_runs(self, runs: list[RunReply], tensors: list[Tensor]) -> None:
        self._use_sent_counts(len(self.result.reply.runs), runs)
        self.result.reply.runs += runs
        self.result.tensors += tensors
        if len(self.result.reply.runs) > _MOST_RUNS or len(self.result.tensors) > MOST_TENSORS:
            raise ProtocolError(
                f"{len(self.result.reply.runs)} runs and {len(self.result.tensors)} tensors"
            )

    def _end_worker(self, how: How) -> WorkerEnd:
        """End the worker and its descendants, and read the rest of its printed output."""
        # All output that was printed before the reply is in the pipe. Do not wait for the end.
        if how == "replied" and not self._measured:
            self._drain(_PIPE_BYTES)
            self._fork_server.dismiss_worker(self._pid)
            return WorkerEnd(0, killed=True)
        end = self._fork_server.end_worker(self._pid, patiently=how in ("died", "replied"))
        self._drain()
        return end

    def stop(self, *, wait: bool = True) -> None:
        """End the worker and its descendants, if the reply is no longer needed.

        Args:
            wait: wait until the worker is gone.
        """
        for descriptor in (self._requests, self._replies):
            os.close(descriptor)
        try:
            if wait:
                self._fork_server.end_worker(self._pid, patiently=False)
            else:
                self._fork_server.dismiss_worker(self._pid)
        finally:
            os.close(self._output)

    def _wait(self, interrupt: int | None, poll_interval: float) -> How:
        with selectors.DefaultSelector() as selector:
            selector.register(self._replies, selectors.EVENT_READ)
            selector.register(self._output, selectors.EVENT_READ)
            if interrupt is not None:
                selector.register(interrupt, selectors.EVENT_READ)
            while (seconds_left := self._deadline - time.monotonic()) > 0:
                bytes_before = self._bytes_so_far()
                ready = selector.select(seconds_left)
                for key, _ in ready:
                    if key.fd == interrupt:
                        raise SupersededError
                    if key.fd == self._output:
                        if not self._drain(_PIPE_BYTES):
                            selector.unregister(self._output)
                        continue
                    try:
                        part = os.read(self._replies, 1 << 20)
                    except BlockingIOError:
                        continue
                    if not part:
                        return "died"
                    self._buffer += part
                    self._received += len(part)
                    if self._take_messages():
                        return "replied"
                    if self._is_enough:
                        return "stopped"
                # A worker that sends much is waiting for space in the pipe.
                if poll_interval and ready and self._bytes_so_far() - bytes_before < _BUSY_BYTES:
                    time.sleep(poll_interval)
        raise ForkServerLostError(
            "The process that starts workers did not end a worker whose time was over. "
            "Run the check again."
        )

    def _bytes_so_far(self) -> int:
        """Return how many bytes have arrived, in the replies and in the printed output."""
        return len(self._printed) + self._flooded + self._received

    def _take_messages(self) -> bool:
        """Take complete messages from the buffer; return True when the reply has arrived."""
        while len(self._buffer) >= HEAD_BYTES:
            kind, length = bytes(self._buffer[:1]), payload_bytes(self._buffer)
            most = {
                NOTE: 32,
                READY: 0,
                COUNT: _MOST_COUNT_BYTES,
                PART: MOST_REPLY_BYTES - self._bytes,
                REPLY: MOST_REPLY_BYTES - self._bytes,
            }.get(kind)
            if most is None or length > most:
                raise ProtocolError(f"a message of kind {kind!r} and {length} bytes")
            if len(self._buffer) < HEAD_BYTES + length:
                return False
            payload = bytes(self._buffer[HEAD_BYTES : HEAD_BYTES + length])
            del self._buffer[: HEAD_BYTES + length]
            if kind == REPLY:
                self._reply = payload
                return True
            if kind == PART:
                self._bytes += HEAD_BYTES + length
                self._take_part(payload)
                if self._is_enough:
                    return False
                continue
            self._message_count += 1
            if kind == READY and self._message_count <= _MOST_MESSAGES:
                self._fork_server.forget_peak(self._pid)
                self._send(REPLY, b"")
                continue
            if kind == COUNT and self._message_count <= _MOST_MESSAGES:
                self._take_counts(payload)
                continue
            if self._message_count > _MOST_MESSAGES or not re.fullmatch(rb"-?\d{1,9}", payload):
                raise ProtocolError("an unreadable note")
            self._note = int(payload)
        return False

    def _drain(self, most: int | None = None) -> bool:
        """Read printed output and keep the first part of it.

        Args:
            most: stop after about this many bytes; None for no limit.

        Returns:
            False if the output is at its end.
        """
        read = 0
        while most is None or read < most:
            try:
                part = os.read(self._output, 1 << 16)
            except BlockingIOError:
                return True
            if not part:
                return False
            read += len(part)
            kept = part[: MOST_OUTPUT_BYTES - len(self._printed)]
            self._printed += kept
            if len(kept) < len(part):
                self._flooded += len(part) - len(kept)
                self._end = (self._end + part[len(kept) :])[-MOST_PART_BYTES:]
        return True

    def _frames_of_fault(self, text: str) -> tuple[Frame, ...]:
        """Return the submission's lines in a fault report of `faulthandler`, outermost first."""
        heads = list(re.finditer(_FAULT_HEAD, text))
        if not heads:
            return ()
        text = text[heads[0].start() :]
        matches = [
            match
            for match in _FAULT.finditer(text)
            if os.path.basename(match["path"]) == os.path.basename(self._file_name)
        ]
        return tuple(
            Frame(int(match["line"]), match["function"], "") for match in reversed(matches[:8])
        )


def _parts(printed: bytes) -> dict[str, str]:
    """Split the printed output at the worker's marks."""
    found: dict[str, bytes] = {}
    part = "import"
    for position, piece in enumerate(_MARK.split(printed)):
        if position % 2:
            part = piece.decode("ascii")
        elif part:
            found[part] = (found.get(part, b"") + piece)[: MOST_PART_BYTES + 1]
    texts = {part: piece.decode("utf-8", "replace") for part, piece in found.items()}
    return {
        part: _without_fault(
            text if len(text) <= MOST_PART_BYTES else text[:MOST_PART_BYTES] + "\n… cut here"
        )
        for part, text in texts.items()
    }


def _without_fault(text: str) -> str:
    """Return the text without the report of `faulthandler`, which the submission did not print."""
    return re.split(f"^(?:{_FAULT_HEAD})", text, maxsplit=1, flags=re.MULTILINE)[0]


def _how_it_died(end: WorkerEnd) -> tuple[str, bool]:
    """Return a sentence about a worker that died without a reply, and True if memory was short."""
    status = end.status
    if end.ended_for:
        return end.ended_for, False
    if end.killed:
        return "the process closed its channel to the grader and gave no result", False
    if os.WIFSIGNALED(status):
        signal_number = os.WTERMSIG(status)
        if signal_number == signal.SIGKILL:
            return (
                "the process was killed (the system does that when memory or CPU time runs out)",
                False,
            )
        if signal_number == signal.SIGSEGV:
            return "the process crashed with a segmentation fault", False
        return f"the process was ended by a signal ({signal.strsignal(signal_number)})", False
    code = os.WEXITSTATUS(status)
    if code == OUT_OF_MEMORY:
        return "it used all the memory that the limit allows", True
    if code == BROKEN_WORKER:
        return (
            "the code that runs your file was broken from inside it (were all descriptors closed, "
            "or torch's functions replaced?)",
            False,
        )
    if code == 0:
        return "the process ended itself (os._exit?) before all cases had run", False
    return f"the process ended itself with exit code {code} before all cases had run", False
