"""Provide the async client of a session: send requests at any time, and await replies."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from attn_drill.server.clients import ServerProcess
from attn_drill.server.messages import HEAD_BYTES, Reply, body_length, unpacked_reply


class AsyncClient(ServerProcess):
    """A grading server whose replies are received as soon as they are sent.

    The server starts at once, so it imports torch while the screen is drawn.
    """

    def __init__(self, *packs: Path) -> None:
        super().__init__(packs)

    async def replies(self) -> AsyncIterator[Reply]:
        """Yield the replies as they arrive. End when the server ends."""
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
