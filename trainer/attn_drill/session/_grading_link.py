"""The connection of a session to a grading process, which is replaced if it ends."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass

from attn_drill.server.clients import AsyncClient
from attn_drill.server.messages import Prepare, Reply, Request

# The most processes in one session, and the pause before each of them except the first.
_MOST_PROCESSES, _REST_SECONDS = 5, 1.0


@dataclass(frozen=True)
class Ended:
    """A grading process has ended, with this last line on stderr. After the last, none follows."""

    last_words: str
    is_last: bool


class GradingLink:
    """Sends requests to a grading process and yields its replies."""

    def __init__(self, challenge: str, connect: Callable[[], AsyncClient]) -> None:
        self._challenge, self._connect = challenge, connect
        self._start()  # so that it imports torch while the screen is drawn

    def _start(self) -> None:
        self.client = self._connect()
        self.client.send(Prepare(self._challenge))

    def send(self, request: Request) -> None:
        """Send a request. If the process is gone, `replies` says so."""
        self.client.send(request)

    async def replies(self) -> AsyncIterator[Reply | Ended]:
        """Yield all replies, and `Ended` each time a process ends."""
        for process_number in range(1, _MOST_PROCESSES + 1):
            async for reply in self.client.replies():
                yield reply
            yield Ended(self.client.last_words(), process_number == _MOST_PROCESSES)
            self.client.close()
            if process_number < _MOST_PROCESSES:
                await asyncio.sleep(_REST_SECONDS)
                self._start()

    def close(self) -> None:
        self.client.close()
