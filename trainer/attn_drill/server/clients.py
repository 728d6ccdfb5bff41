"""The processes of graders: one process, that of a session, a pool, the jobs of `pack check`."""

from __future__ import annotations

import atexit
import contextlib
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from queue import SimpleQueue
from typing import IO

from attn_drill.model.challenge import DEFAULT_LIMITS, Challenge
from attn_drill.model.errors import GraderError
from attn_drill.packs.content_check import CASES, Item, Row
from attn_drill.sandbox import environment
from attn_drill.server.messages import (
    HEAD_BYTES,
    Checked,
    CheckItems,
    Grade,
    GradeTests,
    Hello,
    Ready,
    Refused,
    Reply,
    Request,
    Verdict,
    body_length,
    packed,
    read_message,
    refusal,
    unpacked_reply,
    unpacked_request,
    write_message,
)

_MAIN = "attn_drill.server"
_END_SECONDS = 2.0
_PATIENCE_SECONDS = 300.0  # for the import of torch, a diagnosis, or a machine that is blocked
_TIMES_THE_LIMIT = 60  # the limit is CPU time, and many submissions may share a core

_TRIES = 2
Packs = tuple[str, ...]

_Job = tuple[Challenge, tuple[Item, ...]]
_AT_ONCE = 24  # items of a job: a server prepares the cases of a challenge again after another one


class ServerLostError(Exception):
    """Raised if the server ended, or did not reply within the longest possible time."""


def start(errors: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start the process of a grading server, with requests on stdin and replies on stdout."""
    # It has no arguments and a short environment, because it forks its fork server before it may
    # know anything. The first request tells it the rest.
    return subprocess.Popen(
        [sys.executable, "-m", _MAIN],
        # In the user's folder Python would import files that are named like modules.
        cwd=environment.ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        env=environment.clean_environment(os.environ),
        start_new_session=True,  # Ctrl-C in the terminal must reach the client only
    )


class ServerProcess:
    """A grading server on this machine. A request waits until it has imported torch.

    Args:
        packs: folders of packs. None if the packs are not known yet: then `greet` must follow.
    """

    def __init__(self, packs: Sequence[Path | str] | None) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  # closed by `close`
        self._process = start(self._errors)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests: IO[bytes] = self._process.stdin
        self.output: IO[bytes] = self._process.stdout
        if packs is not None:
            self.greet(packs)

    def greet(self, packs: Sequence[Path | str]) -> None:
        """Tell the server its packs and the user's environment."""
        hello = Hello(tuple(map(str, packs)), dict(os.environ), tuple(sys.path))
        self.send(hello)  # if the process has ended, the first request finds out why

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def send(self, request: Request) -> bool:
        """Send a request; return False if the process has ended."""
        try:
            write_message(self._requests.fileno(), request)
        except (OSError, ValueError):
            return False
        return True

    def ask(self, request: Request) -> Reply:
        """Send a request and wait for its last reply; ServerLostError if there is none."""
        patience = _PATIENCE_SECONDS
        if isinstance(request, Grade):
            patience += _TIMES_THE_LIMIT * request.seconds
        if isinstance(request, GradeTests):
            patience += _TIMES_THE_LIMIT * DEFAULT_LIMITS.seconds
        if isinstance(request, CheckItems):
            patience += _TIMES_THE_LIMIT * DEFAULT_LIMITS.seconds * len(request.items)
        deadline = time.monotonic() + patience
        if not self.send(request):
            raise ServerLostError(self.last_words() or "the grading process ended")
        try:
            while True:
                body = read_message(self.output.fileno(), deadline)
                if body is None:
                    raise EOFError("the grading process ended")
                reply = unpacked_reply(body)
                is_early = isinstance(reply, Verdict) and not reply.is_final
                if not isinstance(reply, Ready) and not is_early and reply.id == request.id:
                    return reply
        except (OSError, ValueError, EOFError) as error:
            raise ServerLostError(self.last_words() or str(error) or type(error).__name__) from None

    def last_words(self) -> str:
        """Return the last line that the process wrote to its stderr, or ""."""
        try:
            self._errors.seek(0)
            lines = self._errors.read()[-4000:].decode("utf-8", "replace").strip().splitlines()
        except ValueError:  # another thread has closed it
            return ""
        return lines[-1] if lines else ""

    def leave(self) -> None:
        """Let the process end by itself, and do not wait for it."""
        for stream in (self._requests, self.output, self._errors):
            with contextlib.suppress(OSError, ValueError):
                stream.close()
        self._process.returncode = 0  # nobody waits for it

    def close(self, patience: float = _END_SECONDS) -> None:
        """End the process and its workers. Kill it after `patience` seconds."""
        with contextlib.suppress(OSError, ValueError):
            self._requests.close()
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        with contextlib.suppress(OSError, ValueError):
            self.output.close()
        self._errors.close()


class AsyncClient(ServerProcess):
    """A grading server whose replies are received as soon as they are sent.

    The server starts at once, so it imports torch while the screen is drawn.
    """

    def __init__(self, *packs: Path) -> None:
        super().__init__(packs)

    async def replies(self) -> AsyncIterator[Reply]:
        """Yield the replies as they arrive. End when the server ends."""
        import asyncio  # noqa: PLC0415  # takes time, and only a session needs it

        reader = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), self.output
        )
        try:
            while True:
                head = await reader.readexactly(HEAD_BYTES)
                yield unpacked_reply(await reader.readexactly(body_length(head)))
        except asyncio.IncompleteReadError:
            return
        finally:
            transport.close()

    def close(self, patience: float = 0.5) -> None:
        """End the server and its workers."""
        super().close(patience)


class ServerPool:
    """A pool of grading servers, sorted by their packs. Several threads may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[Packs, list[ServerProcess]] = {}
        self._at_work: set[ServerProcess] = set()
        self._is_closed = False

    def ask(self, packs: Packs, request: Grade) -> Reply:
        """Return the last reply to a request.

        If the server is lost, another server gets the request. If that server is lost, too, the
        request is refused.
        """
        lost, grading = "", f"Grading {request.submission.name}"
        for _ in range(_TRIES):
            server = self._take(packs)
            if server is None:
                return Refused(
                    request.id,
                    f"{grading} was stopped: this program has ended its grading "
                    "processes. Start it again.",
                )
            try:
                reply = server.ask(request)
            except ServerLostError as error:
                lost = str(error)
                self._drop(server)
            except BaseException:
                self._drop(server)
                raise
            else:
                self._give_back(packs, server)
                return reply
        return Refused(
            request.id,
            f"{grading} ended the grading process {_TRIES} times ({lost}). "
            "Read the file, then grade it alone with `attn-drill check`.",
        )

    def warm(self, packs: Packs) -> None:
        """Start a server that gets ready while this process does something else."""
        if server := self._take(packs):
            self._give_back(packs, server)

    def open(self) -> None:
        """Allow servers to start on demand, also after `close`."""
        with self._lock:
            self._is_closed = False

    def close(self) -> None:
        """End all servers, also servers that handle a request. Start no more servers."""
        with self._lock:
            servers = set(self._at_work)
            for waiting in self._waiting.values():
                servers.update(waiting)
            self._at_work, self._waiting, self._is_closed = set(), {}, True
        # A server that imports torch takes seconds to end, so all of them end at a time.
        closing = [threading.Thread(target=server.close) for server in servers]
        for thread in closing:
            thread.start()
        for thread in closing:
            thread.join()

    def _take(self, packs: Packs) -> ServerProcess | None:
        """Return a server for one request; None if the pool is closed, so that none may start."""
        with self._lock:
            if self._is_closed:
                return None
            waiting = self._waiting.setdefault(packs, [])
            server = waiting.pop() if waiting else ServerProcess(packs)
            self._at_work.add(server)
        return server

    def _give_back(self, packs: Packs, server: ServerProcess) -> None:
        with self._lock:
            if server in self._at_work:  # otherwise `close` has ended it
                self._at_work.discard(server)
                self._waiting[packs].append(server)

    def _drop(self, server: ServerProcess) -> None:
        with self._lock:
            self._at_work.discard(server)
        server.close()


pool = ServerPool()  # the pool of this process
atexit.register(pool.close)


def answer(packs: Packs, request: bytes) -> bytes:
    """Answer a `Grade` with a server of this process.

    Request and reply are bytes, so an executor can call this function on another machine.
    """
    grade = unpacked_request(request)
    assert isinstance(grade, Grade)
    return packed(pool.ask(packs, grade))


def check_pack(
    packs: Sequence[Path],
    seeds: Sequence[int],
    processes: int,
    wanted: Mapping[Challenge, Sequence[Item]],
    on_row: Callable[[Row], None] = lambda row: None,
) -> list[Row]:
    """Return the rows of challenges in the order of their items, and give each new one to `on_row`.

    A fault that several jobs of a challenge find is reported once.

    Args:
        packs: the pack to check, then all other packs to which its challenges may refer.
        processes: the most grading servers at the same time.
    """
    jobs: list[_Job] = []
    for challenge, some in wanted.items():
        # A challenge has several jobs of about the same size.
        count = -(-len(some) // _AT_ONCE)
        jobs += [(challenge, tuple(some[place::count])) for place in range(count)]
    jobs.sort(key=lambda job: -len(job[1]))  # the last jobs are short, so no server waits for long
    servers = [ServerProcess(packs) for _ in range(max(1, min(processes, len(jobs))))]
    idle = SimpleQueue[ServerProcess]()
    for server in servers:
        idle.put(server)

    def checked(job: _Job) -> Sequence[Row]:
        challenge, some_items = job
        server = idle.get()
        try:
            reply = server.ask(CheckItems(challenge.id, some_items, tuple(seeds)))
        except ServerLostError as error:
            raise GraderError(f"A grading process ended: {error}. Run the check again.") from None
        finally:
            idle.put(server)
        if isinstance(reply, Checked):
            return reply.rows
        return [Row(challenge.id, *CASES, (refusal(reply),))]

    rows: dict[Row, None] = {}
    threads = ThreadPoolExecutor(len(servers))
    try:
        for done in as_completed([threads.submit(checked, job) for job in jobs]):
            for row in done.result():
                if row not in rows:
                    rows[row] = None
                    on_row(row)
    finally:
        threads.shutdown(wait=False, cancel_futures=True)
        for server in servers:
            server.close()
    order = [(challenge.id, *item) for challenge, some in wanted.items() for item in some]
    places = {item: place for place, item in enumerate(order)}
    return sorted(rows, key=lambda row: places.get((row.challenge, row.kind, row.name), -1))
