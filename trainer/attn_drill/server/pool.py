"""Keep a pool of grading servers. Servers start on demand and are replaced if they are lost."""

from __future__ import annotations

import atexit
import threading

from attn_drill.server.messages import Grade, Refused, Reply, packed, unpacked_request
from attn_drill.server.process import ServerLostError, ServerProcess

_TRIES = 2
Packs = tuple[str, ...]


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
