"""Grading servers that wait for the next request: started on demand, replaced if they are lost."""

from __future__ import annotations

import atexit
import contextlib
import threading

from trainer.server.messages import (
    Grade,
    GradeReference,
    Prepare,
    Refused,
    Reply,
    Request,
    packed,
    unpacked_request,
)
from trainer.server.process import ServerLostError, ServerProcess

_TRIES = 2
Packs = tuple[str, ...]


class _ClosedError(Exception):
    """No server is started any more."""


class ServerPool:
    """Grading servers by their packs. It may be used by several threads."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._waiting: dict[Packs, list[ServerProcess]] = {}
        self._at_work: set[ServerProcess] = set()
        self._is_closed = False

    def ask(self, packs: Packs, request: Request) -> Reply:
        """Return the last reply to a request.

        A server that is lost is replaced and asked once more. A request that loses two servers is
        refused.

        Args:
            packs: challenges are looked up in these, the first of them first.
        """
        lost = ""
        with contextlib.suppress(_ClosedError):
            for _ in range(_TRIES):
                server = self._take(packs)
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
        request_id = 0 if isinstance(request, Prepare) else request.id
        sentence = f"{_in_words(request)} ended the grading process {_TRIES} times ({lost}). "
        if isinstance(request, Grade):
            sentence += "Look at the file, and grade it alone with `attn-drill check`."
        else:
            sentence += "`attn-drill doctor` shows what this machine can do."
        return Refused(request_id, sentence)

    def open(self) -> None:
        """Start servers on demand from now on, also after `close`."""
        with self._lock:
            self._is_closed = False

    def close(self) -> None:
        """End all servers, also those at work. No server is started any more."""
        with self._lock:
            servers = set(self._at_work)
            for waiting in self._waiting.values():
                servers.update(waiting)
            self._at_work, self._waiting, self._is_closed = set(), {}, True
        for server in servers:
            server.close()

    def _take(self, packs: Packs) -> ServerProcess:
        with self._lock:
            if self._is_closed:
                raise _ClosedError
            waiting = self._waiting.setdefault(packs, [])
            server = waiting.pop() if waiting else ServerProcess(packs)
            self._at_work.add(server)
        return server

    def _give_back(self, packs: Packs, server: ServerProcess) -> None:
        with self._lock:
            if server in self._at_work:  # else all servers were closed meanwhile
                self._at_work.discard(server)
                self._waiting[packs].append(server)

    def _drop(self, server: ServerProcess) -> None:
        with self._lock:
            self._at_work.discard(server)
        server.close()


def _in_words(request: Request) -> str:
    match request:
        case Grade(submission=submission):
            return f"Grading {submission.name}"
        case GradeReference(challenge=challenge):
            return f"Grading the reference of {challenge}"
    return f"Working on {request.challenge}"


pool = ServerPool()  # of this process
atexit.register(pool.close)


def answer(packs: Packs, request: bytes) -> bytes:
    """Have a request answered by a server of this process: bytes in, bytes out, on any machine."""
    return packed(pool.ask(packs, unpacked_request(request)))
