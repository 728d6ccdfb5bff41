"""The session's end of the grading process: start it, order, read what it answers."""

from __future__ import annotations

import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
from collections.abc import AsyncIterator
from pathlib import Path
from typing import IO

from trainer.grading.wire import Answer, Order, packed, unpacked_answer

_ROOT = Path(__file__).resolve().parents[2]


class WarmGrader:
    """A grading process. Started at once, so that torch is imported while the screen is drawn; what is ordered meanwhile waits.

    Challenges are looked up in these packs, the first of them first.
    """

    def __init__(self, *packs: Path) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  # as long as the process lives
        # -P: a file of the learner's named like a module of ours or Python's is not imported in its place.
        self._process = subprocess.Popen(
            [sys.executable, "-P", "-m", "trainer.grading.warm", *map(str, packs)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._errors,
            env={**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")]))},
            start_new_session=True,  # Ctrl-C in the terminal is the screen's to handle
        )

    def order(self, order: Order) -> bool:
        """Send an order; False where the process is gone."""
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(packed(order))
            self._process.stdin.flush()
        except (OSError, ValueError):
            return False
        return True

    async def answers(self) -> AsyncIterator[Answer]:
        """What it answers, as it comes; ends when the process does."""
        reader = asyncio.StreamReader()
        loop = asyncio.get_running_loop()
        transport, _ = await loop.connect_read_pipe(lambda: asyncio.StreamReaderProtocol(reader), self._process.stdout)
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
        self._errors.seek(0)
        lines = self._errors.read()[-4000:].decode("utf-8", "replace").strip().splitlines()
        return lines[-1] if lines else ""

    def close(self) -> None:
        """End it: it ends with its stdin, and its workers with it."""
        with contextlib.suppress(OSError, ValueError):
            assert self._process.stdin is not None
            self._process.stdin.close()
        try:
            self._process.wait(0.5)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.close()
