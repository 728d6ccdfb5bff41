"""The client of a session: requests are sent at any time, and replies are awaited."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from trainer.server.messages import HEAD_BYTES, Reply, Request, body_length, unpacked_reply
from trainer.server.process import ServerProcess

_PATIENCE_SECONDS = 0.5


class AsyncClient:
    """A grading server whose replies come as they are made.

    It is started at once, so that torch is imported while the screen is drawn.
    """

    def __init__(self, *packs: Path) -> None:
        self._process = ServerProcess(packs)

    def send(self, request: Request) -> bool:
        """Send a request; return False if the server is gone."""
        return self._process.send(request)

    async def replies(self) -> AsyncIterator[Reply]:
        """Yield the replies as they come; end when the server does."""
        reader = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), self._process.replies
        )
        try:
            while True:
                head = await reader.readexactly(HEAD_BYTES)
                yield unpacked_reply(await reader.readexactly(body_length(head)))
        except asyncio.IncompleteReadError:
            return
        finally:
            transport.close()

    def last_words(self) -> str:
        """Return the last line that the server wrote to its stderr, or ""."""
        return self._process.last_words()

    def close(self) -> None:
        """End the server, and its workers with it."""
        self._process.close(_PATIENCE_SECONDS)
