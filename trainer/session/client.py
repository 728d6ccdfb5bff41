"""The session's end of the grading process: start it, order, read what it answers."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

from trainer.grading.child import GradingProcess
from trainer.grading.wire import Answer, Order, packed, unpacked_answer

_PATIENCE_SECONDS = 0.5


class WarmGrader:
    """A grading process. Started at once, so that torch is imported while the screen is drawn; what is ordered meanwhile waits.

    Challenges are looked up in these packs, the first of them first.
    """

    def __init__(self, *packs: Path) -> None:
        self._process = GradingProcess("trainer.grading.warm", *map(str, packs))

    def order(self, order: Order) -> bool:
        """Send an order; False where the process is gone."""
        try:
            self._process.send(packed(order))
        except (OSError, ValueError):
            return False
        return True

    async def answers(self) -> AsyncIterator[Answer]:
        """What it answers, as it comes; ends when the process does."""
        reader = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(
            lambda: asyncio.StreamReaderProtocol(reader), self._process.answers
        )
        try:
            while True:
                head = await reader.readexactly(4)
                yield unpacked_answer(await reader.readexactly(int.from_bytes(head, "little")))
        except asyncio.IncompleteReadError:
            return
        finally:
            transport.close()

    def last_words(self) -> str:
        """The last line that it wrote to its stderr, or ""."""
        return self._process.last_words()

    def close(self) -> None:
        """End it, and its workers with it."""
        self._process.close(_PATIENCE_SECONDS)
