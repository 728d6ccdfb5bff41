"""Open the learner's editor, and notice that a file was saved.

The system sends events for most saves. A look at the file once a second finds the saves without an
event, for example in a network folder.
"""

from __future__ import annotations

import asyncio
import os
import shlex
import shutil
import signal
import subprocess
from collections.abc import AsyncIterator, Callable, Mapping
from pathlib import Path

from attn_drill.model.errors import DrillError

# Events that follow each other within these times are one save: an editor that writes in parts, or
# renames a new file, makes several events.
_STEP_MS, _DEBOUNCE_MS = 3, 50
_LOOK_SECONDS = 1.0
_VARIABLES = ("VISUAL", "EDITOR")  # in the usual order
_USUAL = ("nano", "vim", "vi")
_ADVICE = (
    "Set EDITOR to your editor, for example EDITOR=nano, or edit the file in another window: "
    "every save is graded."
)

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
        before, last = last, mark_of(path)
        if last != before:
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


def find_editor(
    environment: Mapping[str, str], which: Callable[[str], str | None] = shutil.which
) -> list[str]:
    """Return the command of VISUAL, of EDITOR or of a usual editor, or raise a DrillError."""
    for variable in _VARIABLES:
        if text := environment.get(variable, "").strip():
            try:
                command = [os.path.expanduser(word) for word in shlex.split(text)]
            except ValueError:  # a quote is not closed
                command = []
            if command and which(command[0]):
                return command
            raise DrillError(f"{variable} is {text}, and no such program can be run. {_ADVICE}")
    for name in _USUAL:
        if which(name):
            return [name]
    raise DrillError(f"There is no {', '.join(_USUAL)} here. {_ADVICE}")


def run_editor(command: list[str], path: Path) -> str:
    """Run an editor on a file until it ends. Return a sentence about a failure, or ""."""
    name = command[0]
    # The terminal sends Ctrl-C to this process too. Not SIG_IGN: the editor would inherit it.
    old_handler = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        code = subprocess.run([*command, str(path)], check=False).returncode
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or error
        return f"{name} could not be started: {reason}. {_ADVICE}"
    finally:
        signal.signal(signal.SIGINT, old_handler or signal.SIG_DFL)
    if code == 0:
        return ""
    ending = f"exit code {code}" if code > 0 else f"signal {-code}"
    return f"{name} ended with {ending}; {path.name} is as the editor left it. {_ADVICE}"
