"""Start the learner's editor on a file, and explain failures in a sentence."""

from __future__ import annotations

import os
import shlex
import shutil
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from trainer.model.errors import DrillError

_VARIABLES = ("VISUAL", "EDITOR")  # in the usual order
_USUAL = ("nano", "vim", "vi")
_ADVICE = (
    "Set EDITOR to your editor, for example EDITOR=nano, or edit the file in another window: "
    "every save is graded."
)

Which = Callable[[str], str | None]


@dataclass(frozen=True)
class Editor:
    """A command that edits a file.

    Attributes:
        command: the program and its arguments, without the file's name.
        origin: the environment variable that names the command, or "".
    """

    command: tuple[str, ...]
    origin: str = ""

    @property
    def name(self) -> str:
        """The program."""
        return self.command[0]


def find_editor(environment: Mapping[str, str], which: Which = shutil.which) -> Editor:
    """Return the editor that VISUAL or EDITOR names, or a usual editor of the system.

    Args:
        environment: the environment variables.
        which: finds a program by its name.

    Raises:
        DrillError: if the named editor cannot be started, or if there is no editor. The message
            has the next step.
    """
    for variable in _VARIABLES:
        text = environment.get(variable, "").strip()
        if text:
            return _named(variable, text, which)
    for name in _USUAL:
        if which(name):
            return Editor((name,))
    usual = f"{', '.join(_USUAL[:-1])} or {_USUAL[-1]}"
    raise DrillError(f"No editor is named, and there is no {usual} here. {_ADVICE}")


def _named(variable: str, text: str, which: Which) -> Editor:
    try:
        command = shlex.split(text)
    except ValueError as error:
        raise DrillError(
            f"{variable} is {text!r}, which is not a command ({error}). {_ADVICE}"
        ) from None
    if not command or not command[0]:
        raise DrillError(f"{variable} is {text!r}, which names no program. {_ADVICE}")
    program = os.path.expanduser(command[0])
    if which(program) is None:
        if not os.path.exists(program) or os.sep not in program:
            trouble = "there is no such program"
        else:
            trouble = "it is a folder" if os.path.isdir(program) else "it is not executable"
        raise DrillError(f"{variable} names {command[0]!r}: {trouble}. {_ADVICE}")
    return Editor((program, *command[1:]), variable)


def run_editor(editor: Editor, path: Path) -> str:
    """Run an editor on a file until it ends. Return a sentence about a failure, or ""."""
    try:
        with _no_interrupts():
            code = subprocess.run([*editor.command, str(path)], check=False).returncode
    except OSError as error:
        return f"{editor.name} could not be started: {error.strerror or error}. {_ADVICE}"
    if code == 0:
        return ""
    ending = f"exit code {code}" if code > 0 else f"signal {-code}"
    return f"{editor.name} ended with {ending}; {path.name} is as the editor left it. {_ADVICE}"


@contextmanager
def _no_interrupts() -> Iterator[None]:
    """Ignore Ctrl-C in this process: the terminal sends it to the editor too."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may set a handler
        return
    # Not SIG_IGN, because the editor would inherit it.
    old_handler = signal.signal(signal.SIGINT, lambda number, frame: None)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, old_handler if old_handler is not None else signal.SIG_DFL)
