"""Describe in words the action that a submission tried and the sandbox refused.

The error of the system says only "Operation not permitted", "Read-only file system" or, for a
system call that is not allowed, "Function not implemented". Python announces its next action to
audit hooks (PEP 578). The last announced action that the sandbox refuses is the action that caused
the exception.
"""

from __future__ import annotations

import errno
import os
import sys
import threading
from collections import deque
from typing import Any

from trainer.sandbox.confine import FILE_BYTES
from trainer.sandbox.isolation import FOLDER_BYTES, FOLDER_FILES

_WRITING = os.O_WRONLY | os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_APPEND
_NETWORK = "open a network socket"
_PROCESS = "start a process"
_ACTIONS = {
    **dict.fromkeys(
        (
            "socket.__new__",
            "socket.connect",
            "socket.bind",
            "socket.sendto",
            "socket.getaddrinfo",
            "socket.gethostbyname",
        ),
        _NETWORK,
    ),
    **dict.fromkeys(
        (
            "os.fork",
            "os.forkpty",
            "os.posix_spawn",
            "os.spawn",
            "os.system",
            "os.exec",
            "subprocess.Popen",
            "pty.spawn",
        ),
        _PROCESS,
    ),
    **dict.fromkeys(("os.kill", "os.killpg"), "signal a process"),
    **dict.fromkeys(("resource.setrlimit", "resource.prlimit"), "change its own limits"),
    **dict.fromkeys(("os.listdir", "os.scandir"), "list the folder {}"),
    **dict.fromkeys(
        ("os.mkdir", "os.remove", "os.rmdir", "os.rename", "os.link", "os.symlink", "os.truncate"),
        "change {}, outside its own folder",
    ),
    **dict.fromkeys(
        ("os.chmod", "os.chown", "os.utime", "os.setxattr"), "change the attributes of {}"
    ),
}
_ON_PATHS = {"open"} | {event for event, action in _ACTIONS.items() if "{}" in action}
_TOO_MUCH = {
    errno.ENOSPC: (
        f"it wrote more than the {FOLDER_BYTES >> 20} MiB, or the {FOLDER_FILES} files, "
        "that a submission may write"
    ),
    errno.EFBIG: (
        f"it wrote a file of more than the {FILE_BYTES >> 20} MiB that a submission may write"
    ),
}
_REFUSED = (errno.EPERM, errno.EACCES, errno.EROFS, errno.ENOSYS)
_MOST_CAUSES = 8
_LIMITS_STAND = "not allowed to raise maximum limit"  # Python's message for this refusal
_WITH_TWO_PATHS = ("os.symlink", "os.link", "os.rename")
_REMEMBERED = 64
_last = threading.local()  # `actions`: the events announced in this thread, and their arguments


def watch() -> None:
    """Record announced actions from now on. This process cannot switch the recording off."""
    sys.addaudithook(_note)


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _ACTIONS or event == "open":
        if not hasattr(_last, "actions"):
            _last.actions = deque(maxlen=_REMEMBERED)
        _last.actions.append((event, arguments))


def sentence(error: BaseException) -> str:
    """Return a sentence about the action that the system refused.

    Args:
        error: the exception that the submission raised. The refusal may be this exception, or one
            of the exceptions that caused it.

    Returns:
        The sentence, or "" if the system refused nothing.
    """
    for _ in range(_MOST_CAUSES):
        if isinstance(error, ValueError) and str(error) == _LIMITS_STAND:
            return _sentence_of("resource.setrlimit", ())
        if isinstance(error, OSError) and error.errno in _TOO_MUCH:
            return _TOO_MUCH[error.errno]
        if isinstance(error, OSError) and error.errno in _REFUSED:
            return _sentence_of(*_refused(error))
        if (cause := error.__cause__ or error.__context__) is None:
            break
        error = cause
    return ""


def _refused(error: OSError) -> tuple[str, tuple[Any, ...]]:
    """Return the event and the arguments of the last announced action that fits the refusal.

    If the refusal names paths, only an action on one of these paths fits. If the refusal names no
    path, only an action without a path fits.
    """
    refused_paths = {
        os.fsdecode(path)
        for path in (error.filename, error.filename2)
        if isinstance(path, str | bytes)
    }
    for event, arguments in reversed(getattr(_last, "actions", ())):
        fits = (
            refused_paths & {_shown_path(argument) for argument in arguments[:2]}
            if refused_paths
            else event not in _ON_PATHS
        )
        if fits:
            return event, arguments
    return "", ()


def _sentence_of(event: str, arguments: tuple[Any, ...]) -> str:
    if event == "open":
        path, mode, flags = (*arguments, None, 0)[:3]
        writing = (
            any(letter in mode for letter in "wax+")
            if isinstance(mode, str)
            else bool((flags or 0) & _WRITING)
        )
        action = (
            f"write to {_shown_path(path)}, outside its own folder"
            if writing
            else f"read {_shown_path(path)}"
        )
    else:
        path = (
            arguments[1]
            if event in _WITH_TWO_PATHS and len(arguments) > 1
            else arguments[0]
            if arguments
            else ""
        )
        action = _ACTIONS.get(event, "").format(_shown_path(path))
    return (
        f"it tried to {action}, which a submission may not do"
        if action
        else "it tried something that a submission may not do"
    )


def _shown_path(path: object) -> str:
    return os.fsdecode(path)[:200] if isinstance(path, str | bytes | os.PathLike) else "a file"
