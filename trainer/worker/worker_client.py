"""Give a worker one request and read what comes back, with every size capped.

The fork server ends a worker whose time is over, so nothing here has to be in time; a worker that is gone closes its pipes.
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
    Tried,
    decode,
    message,
)

MOST_OUTPUT_BYTES = 1 << 20  # kept of all that is printed, from its beginning
MOST_PART_BYTES = 16 << 10  # kept of each call, and of the very end, where a fault is reported
_MOST_NOTES = 100_000
_MOST_RUNS = 1000
_MOST_COUNT_BYTES = 2000
_MOST_WAYS = 8  # in which one run is counted
_PIPE_BYTES = 1 << 20  # no pipe of an ordinary system holds more
_MARK = re.compile(rb"\0([a-z0-9]{0,9})\0")
_MUCH = 32 << 10  # bytes at a time
_ROUGHLY_ENDLESS = 40  # times the limit: longer than the fork server lets any worker live, on a machine that stands still at times
_ENDLESS_SECONDS = 120.0  # beyond that
# Above the lines of a file, `faulthandler` writes one of these: a fault, or the signal that its time is over.
_FAULT_HEAD = (
    r"Fatal Python error: |Stack \(most recent call first\):|Current thread 0x[0-9a-f]{6,16}\b"
)
_FAULT = re.compile(
    r'File "(?P<path>[^"\n]{0,4096})", line (?P<line>\d{1,9}) in (?P<function>\S{1,100})'
)


class SupersededError(BaseException):
    """Nobody wants the result any more: another order is there. No Exception, so that nothing takes it for a failure of its own."""


How = Literal["replied", "timeout", "died", "garbage", "lost", "stopped"]


@dataclass
class WorkerResult:
    """How a worker's run ended.

    how         "lost": the fork server was gone, and the worker with it; "stopped": by the grader, which knew enough
    last_note   the run that was under way: -1 while the file was imported, None before
    seconds     the limit of its CPU time
    slept       of a timeout: whether the worker slept, and did not use up its CPU time
    partial     the runs that were told before the end, where no reply came
    most_bytes  the most memory that the worker ever held, where its end was waited for
    cpu         the CPU seconds that it took, where its end was waited for
    """

    how: How
    reply: Reply = field(default_factory=Reply)
    tensors: list[Tensor] = field(default_factory=list)
    reason: str = ""
    out_of_memory: bool = False
    last_note: int | None = None
    printed: Mapping[str, str] = field(
        default_factory=dict
    )  # by part: `import`, or the number of a run
    flooded: int = 0
    frames: tuple[Frame, ...] = ()
    tried: Tried | None = None
    seconds: float = 0.0
    slept: bool = False
    partial: list[RunReply] = field(default_factory=list)
    most_bytes: int = 0
    cpu: float = 0.0


class WorkerRun:
    """A worker that makes ready, and is at work once it has a file. The grader may do other things until it calls `finish`.

    frame: the request, or None for the one that the fork server holds
    rehearsed: whether the file comes later, so that the worker has the time to rehearse
    measured: whether the worker's end is waited for, so that the kernel tells how much memory it took
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
            limits, held=frame is None, rehearsed=rehearsed, measured=measured
        )
        self._file_name = ""
        self._give_up = time.monotonic() + _ROUGHLY_ENDLESS * limits.seconds + _ENDLESS_SECONDS
        self._buffer = bytearray()
        self._printed = bytearray()
        self._end = b""
        self._flooded = 0
        self._note: int | None = None
        self._counts: dict[int, list[Counts]] = {}
        self._notes = 0
        self.ended = WorkerResult("died", seconds=limits.seconds)  # what is known of it so far
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
        """Give it the learner's file; its time counts from here on."""
        self._file_name = file.name
        self._give_up = (
            time.monotonic() + _ROUGHLY_ENDLESS * self._limits.seconds + _ENDLESS_SECONDS
        )
        self._fork_server.start_clock(self._pid)
        self._send(FILE, msgspec.json.encode(file))

    def _send(self, kind: bytes, payload: bytes) -> None:
        """Send a message to a worker that has not yet met the learner's file, so that it reads all of it."""
        rest = memoryview(message(kind, payload))
        with contextlib.suppress(OSError):  # it died; `finish` finds out how
            while rest and time.monotonic() < self._give_up:
                select.select([], [self._requests], [], 1.0)
                with contextlib.suppress(BlockingIOError):
                    rest = rest[os.write(self._requests, rest) :]

    def finish(
        self,
        interrupt: int | None = None,
        more: Callable[[], bool] | None = None,
        poll_interval: float = 0.0,
    ) -> WorkerResult:
        """Wait for the reply, the worker's death or the deadline; then end the worker's whole family.

        Args:
            interrupt: a descriptor.
            more: is called whenever `ended` knows more runs; a reply that does not end well takes
                them back. The worker is stopped as soon as it returns True.
            poll_interval: seconds between two looks. A worker says something several hundred times; to be woken each time takes this core from others.

        Raises:
            SupersededError: as soon as there is something to read from the descriptor `interrupt`.
        """
        how: How = "died"
        reason = ""
        self._more = more
        try:
            how = self._wait(interrupt, poll_interval)
        except ProtocolError as error:
            how, reason = "garbage", str(error)
        except BaseException:
            how = "timeout"  # it is not ending alone
            raise
        finally:
            os.close(self._replies)
            os.close(self._requests)
            try:
                end = self._end_worker(how)
            finally:
                os.close(self._output)
        ended = self.ended
        ended.how, ended.reason = how, reason
        ended.most_bytes, ended.cpu = end.most_bytes, end.cpu
        if self._reply is not None:
            try:
                self._complete(self._reply)
            except ProtocolError as error:
                ended.how, ended.reason = "garbage", str(error)
        elif how == "died" and end.out_of:
            ended.how, ended.slept = "timeout", end.out_of == "sleep"
        elif how == "died":
            ended.reason, ended.out_of_memory = _how_it_died(end)
        if ended.how != "replied":
            ended.partial, ended.reply, ended.tensors = ended.reply.runs, Reply(), []
        ended.last_note = self._note
        ended.flooded = self._flooded
        ended.frames = self._frames_of_fault((self._printed + self._end).decode("utf-8", "replace"))
        ended.printed = _parts(bytes(self._printed))
        return ended

    def _take_part(self, payload: bytes) -> None:
        """Keep the runs of a part."""
        part, tensors = decode(payload, ReplyPart)
        self._keep(part.runs, tensors)
        self.ended.tried = self.ended.tried or part.tried
        if self._more is not None and self._more():
            self._is_enough = True

    def _complete(self, payload: bytes) -> None:
        """Put the reply together with the parts before it."""
        reply, tensors = decode(payload, Reply)
        self._keep(reply.runs, tensors)
        reply.runs = self.ended.reply.runs
        self.ended.reply = reply

    def _take_counts(self, payload: bytes) -> None:
        """Keep the counts of a call. A second message for one call means that somebody else writes them too."""
        try:
            counted = msgspec.json.decode(payload, type=Counted)
        except (msgspec.MsgspecError, ValueError, RecursionError) as error:
            raise ProtocolError(f"counts that are not ours: {error}") from None
        before = self._counts.setdefault(counted.run, [])
        way = (counted.counts.training, counted.counts.gradients)
        if len(before) >= _MOST_WAYS or way in [
            (known.training, known.gradients) for known in before
        ]:
            counted = Counted(counted.run, Counts(tampered="counts came twice for one call"))
        before.append(counted.counts)

    def _as_counted(self, first: int, runs: list[RunReply]) -> None:
        """Give each run the counts that were sent when it was over; a reply that tells others was changed since."""
        for index, told in enumerate(runs, first):
            sent = self._counts.get(index, [])
            if told.counts != sent:
                sent = [*sent, Counts(tampered="its counts were changed after they were sent")]
            told.counts = sent

    def _keep(self, runs: list[RunReply], tensors: list[Tensor]) -> None:
        self._as_counted(len(self.ended.reply.runs), runs)
        self.ended.reply.runs += runs
        self.ended.tensors += tensors
        if len(self.ended.reply.runs) > _MOST_RUNS or len(self.ended.tensors) > MOST_TENSORS:
            raise ProtocolError(
                f"{len(self.ended.reply.runs)} runs and {len(self.ended.tensors)} tensors"
            )

    def _end_worker(self, how: How) -> WorkerEnd:
        """End the worker's family and take what it has printed."""
        if (
            how == "replied" and not self._measured
        ):  # what was printed before the reply is in the pipe; nobody waits for the end
            self._drain(_PIPE_BYTES)
            self._fork_server.dismiss_worker(self._pid)
            return WorkerEnd(0, killed=True)
        ended = self._fork_server.end_worker(self._pid, patiently=how in ("died", "replied"))
        self._drain()
        return ended

    def stop(self) -> None:
        """End the worker's whole family; nobody asks for the reply any more."""
        for descriptor in (self._requests, self._replies):
            os.close(descriptor)
        try:
            self._fork_server.end_worker(self._pid, patiently=False)
        finally:
            os.close(self._output)

    def _wait(self, interrupt: int | None, poll_interval: float) -> How:
        with selectors.DefaultSelector() as selector:
            selector.register(self._replies, selectors.EVENT_READ)
            selector.register(self._output, selectors.EVENT_READ)
            if interrupt is not None:
                selector.register(interrupt, selectors.EVENT_READ)
            while (left := self._give_up - time.monotonic()) > 0:
                said = self._said()
                ready = selector.select(left)
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
                if (
                    poll_interval and ready and self._said() - said < _MUCH
                ):  # whoever says much is waiting for room
                    time.sleep(poll_interval)
        raise ForkServerLostError(
            "The process that starts workers did not end a worker whose time was over. Run the check again."
        )

    def _said(self) -> int:
        """Return how many bytes have come, printed ones and others."""
        return len(self._printed) + self._flooded + self._received

    def _take_messages(self) -> bool:
        """Take whole messages off the buffer; True once the reply is there."""
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
            self._notes += 1
            if kind == READY and self._notes <= _MOST_NOTES:
                self._fork_server.forget_peak(self._pid)
                self._send(REPLY, b"")
                continue
            if kind == COUNT and self._notes <= _MOST_NOTES:
                self._take_counts(payload)
                continue
            if self._notes > _MOST_NOTES or not re.fullmatch(rb"-?\d{1,9}", payload):
                raise ProtocolError("a note that is not ours")
            self._note = int(payload)
        return False

    def _drain(self, most: int | None = None) -> bool:
        """Read what was printed (at most about so many bytes), keep the first part of it; False at its end."""
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
        """The learner's lines that faulthandler named, outermost first."""
        heads = list(re.finditer(_FAULT_HEAD, text))
        if not heads:
            return ()
        text = text[heads[0].start() :]
        found = [
            match
            for match in _FAULT.finditer(text)
            if os.path.basename(match["path"]) == os.path.basename(self._file_name)
        ]
        return tuple(
            Frame(int(match["line"]), match["function"], "") for match in reversed(found[:8])
        )


def _parts(printed: bytes) -> dict[str, str]:
    """Take what was printed apart at the worker's marks."""
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
    """What faulthandler wrote is ours, not the learner's."""
    return re.split(f"^(?:{_FAULT_HEAD})", text, maxsplit=1, flags=re.MULTILINE)[0]


def _how_it_died(end: WorkerEnd) -> tuple[str, bool]:
    """Words for the end of a worker that gave no reply, and whether it was memory."""
    status = end.status
    if end.ended_for:
        return end.ended_for, False
    if end.killed:
        return "the process closed its channel to the grader and gave no result", False
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number == signal.SIGKILL:
            return (
                "the process was killed (the system does that when memory or CPU time runs out)",
                False,
            )
        if number == signal.SIGSEGV:
            return "the process crashed with a segmentation fault", False
        return f"the process was ended by a signal ({signal.strsignal(number)})", False
    code = os.WEXITSTATUS(status)
    if code == OUT_OF_MEMORY:
        return "it has taken all the memory that the limit allows; `--memory-limit` raises it", True
    if code == BROKEN_WORKER:
        return (
            "the code that runs your file was broken from inside it (were all descriptors closed, or torch's functions replaced?)",
            False,
        )
    if code == 0:
        return "the process ended itself (os._exit?) before all cases had run", False
    return f"the process ended itself with exit code {code} before all cases had run", False
