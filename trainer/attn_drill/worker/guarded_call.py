"""Call code of a submission, and put the exceptions that it raises into words."""

from __future__ import annotations

import errno
import linecache
import traceback
from collections.abc import Callable, Iterable
from types import FrameType
from typing import Any

from attn_drill.sandbox.confine import FILE_BYTES
from attn_drill.sandbox.isolation import FOLDER_BYTES
from attn_drill.worker.protocol import CallFailure, FrameData, cap
from attn_drill.worker.returns import UnexpectedReturnError


class GuardedCall:
    """Calls into the file at `path`. Of every traceback, only the lines of that file are kept."""

    def __init__(self, path: str) -> None:
        self.path = path

    def call(self, phase: str, action: Callable[[], Any]) -> tuple[Any, CallFailure | None]:
        """Return the result of `action` and None, or None and the failure if `action` raises.

        Args:
            phase: the name of the phase for the failure, for example "forward".
        """
        try:
            return action(), None
        # SystemExit and KeyboardInterrupt too: the learner's code may raise any exception. And to
        # read the attributes of that exception may raise another.
        except BaseException as error:
            try:
                return None, self._described(phase, error)
            except BaseException:
                return None, CallFailure(phase, "Exception", "an exception that cannot be shown")

    def frames(self, stack: Iterable[tuple[FrameType, int]]) -> list[FrameData]:
        """Return the file's own frames of a stack, outermost first, at most the last 8."""
        frames: list[FrameData] = []
        for frame, line in stack:
            if frame.f_code.co_filename == self.path:
                text = linecache.getline(self.path, line or 0).strip()
                frames.append(FrameData(line or 0, cap(frame.f_code.co_name, 100), cap(text, 200)))
        return frames[-8:]

    def _described(self, phase: str, error: BaseException) -> CallFailure:
        text = _text_of(error)
        if isinstance(error, ModuleNotFoundError) and error.name:
            text = f"No module named {error.name!r}"  # also of a hidden package
        if refused := refused_action(error):
            text = f"{refused} ({text})"
        if (
            isinstance(error, SyntaxError)
            and type(error).__module__ == "builtins"
            and str(error.filename) == self.path
        ):
            number = error.lineno
            line = number if isinstance(number, int) and 0 <= number <= 10**9 else 0
            frames = [FrameData(line, "", cap(str(error.text or "").strip(), 200))]
            text = str(error.msg)
        else:
            frames = self.frames(traceback.walk_tb(error.__traceback__))
        if isinstance(error, UnexpectedReturnError):
            frames = []
        if phase == "import" and isinstance(error, MemoryError) and not frames:
            return CallFailure(
                phase, "SyntaxError", "the file is nested too deeply for Python's parser"
            )
        return CallFailure(
            phase, cap(type(error).__name__, 200), cap(text), frames, is_out_of_memory(error)
        )


_TOO_MUCH = {
    errno.ENOSPC: f"it wrote more than the {FOLDER_BYTES >> 20} MiB that a submission may write",
    errno.EFBIG: f"it wrote a file of more than {FILE_BYTES >> 20} MiB, which no submission may",
}
_REFUSED = (errno.EPERM, errno.EACCES, errno.EROFS, errno.ENOSYS)
_MOST_CAUSES = 8


def refused_action(error: BaseException) -> str:
    """Return a sentence if the system refused something that the submission tried, or "".

    The refusal may be the exception itself, or one of the exceptions that caused it.
    """
    cause: BaseException | None = error
    for _ in range(_MOST_CAUSES):
        if isinstance(cause, OSError) and cause.errno in _TOO_MUCH:
            return _TOO_MUCH[cause.errno]
        if isinstance(cause, OSError) and cause.errno in _REFUSED:
            path = cause.filename if isinstance(cause.filename, str) else ""
            if path and cause.errno != errno.ENOSYS:  # that call itself is refused
                return f"it tried to read or change {path[:200]}, which a submission may not do"
            return (
                "it tried to use the network, to start a process, or to do something else that a "
                "submission may not do"
            )
        cause = None if cause is None else cause.__cause__ or cause.__context__
    return ""


def is_out_of_memory(error: BaseException) -> bool:
    """Return whether Python or torch's allocator requested more memory than the limit allows."""
    refused = isinstance(error, OSError) and error.errno == errno.ENOMEM
    return refused or isinstance(error, MemoryError) or "can't allocate memory" in _text_of(error)


def _text_of(error: BaseException) -> str:
    try:
        return str(error)
    except Exception:
        return "(its message cannot be shown)"
