"""Notice that a file was saved.

The system sends events for most saves. A look at the file once a second finds the saves without an
event, for example in a network folder.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import AsyncIterator
from pathlib import Path

# Events that follow each other within these times are one save: an editor that writes in parts, or
# renames a new file, makes several events.
_STEP_MS, _DEBOUNCE_MS = 3, 50
_LOOK_SECONDS = 1.0

Mark = tuple[int, int, int]


def mark_of(path: Path) -> Mark | None:
    """Return the inode, time and size of a file, which change with a save; None without a file."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


async def saves(path: Path, stop: asyncio.Event) -> AsyncIterator[None]:
    """Yield each time the file was changed, replaced, removed or created, until `stop` is set."""
    last = mark_of(path)
    async for _ in _moments(path, stop):
        now = mark_of(path)
        if now != last:
            last = now
            yield


async def _moments(path: Path, stop: asyncio.Event) -> AsyncIterator[None]:
    """Yield at each event of the file, and at least once a second."""
    from watchfiles import awatch

    try:
        # Watch the folder: a save by rename puts another file in this file's place.
        async for _ in awatch(
            path.parent,
            watch_filter=lambda _, name: Path(name).name == path.name,
            debounce=_DEBOUNCE_MS,
            step=_STEP_MS,
            stop_event=stop,
            rust_timeout=int(_LOOK_SECONDS * 1000),
            yield_on_timeout=True,
            recursive=False,
        ):
            yield
    except (OSError, RuntimeError):
        pass  # the system has no events, or the folder is gone
    while not stop.is_set():
        await asyncio.sleep(_LOOK_SECONDS)
        yield
