"""Notice that a file was saved: by the system's events, and by looking where they do not come (a network folder, say)."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncIterator
from pathlib import Path

_STEP_MS = 3  # how long it must be quiet: an editor that writes in parts, or by rename, makes several events
_DEBOUNCE_MS = 50  # the longest that a flood of events is waited for
_LOOK_SECONDS = 1.0

Mark = tuple[int, int, int]


def mark_of(path: Path) -> Mark | None:
    """What changes when a file is saved: its inode, time and size; None where there is none."""
    try:
        status = os.stat(path)
    except OSError:
        return None
    return status.st_ino, status.st_mtime_ns, status.st_size


async def saves(path: Path, stop: asyncio.Event) -> AsyncIterator[None]:
    """One item each time the file was changed, replaced, removed or came back, until `stop`."""
    changed = asyncio.Event()
    last = mark_of(path)
    listener = asyncio.create_task(_listen(path, changed, stop))
    try:
        while not stop.is_set():
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(changed.wait(), _LOOK_SECONDS)
            changed.clear()
            now = mark_of(path)
            if now != last:
                last = now
                yield
    finally:
        listener.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await listener


async def _listen(path: Path, changed: asyncio.Event, stop: asyncio.Event) -> None:
    """Wake whoever waits, at every event in the file's folder that is about it."""
    from watchfiles import awatch

    try:
        # The folder, not the file: a save by rename puts another file in its place.
        async for _ in awatch(
            path.parent,
            watch_filter=lambda _, name: Path(name).name == path.name,
            debounce=_DEBOUNCE_MS,
            step=_STEP_MS,
            stop_event=stop,
            recursive=False,
        ):
            changed.set()
    except (OSError, RuntimeError):
        return  # no events on this system, or the folder is gone: looking goes on
