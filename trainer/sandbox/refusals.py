"""Say in words what a submission tried and was refused.

The system answers with "Operation not permitted", "Read-only file system", or "Function not
implemented" for a system call that is not allowed, and no more. Python announces what it is about
to do to audit hooks (PEP 578): the last such thing, of those that the sandbox refuses, is what the
exception speaks of.
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
_DEEDS = {
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
_ON_PATHS = {"open"} | {event for event, deed in _DEEDS.items() if "{}" in deed}
_TOO_MUCH = {
    errno.ENOSPC: f"it wrote more than the {FOLDER_BYTES >> 20} MiB, or the {FOLDER_FILES} files, that a submission may write",
    errno.EFBIG: f"it wrote a file of more than the {FILE_BYTES >> 20} MiB that a submission may write",
}
_REFUSED = (errno.EPERM, errno.EACCES, errno.EROFS, errno.ENOSYS)
_MOST_CAUSES = 8
_LIMITS_STAND = "not allowed to raise maximum limit"  # what Python makes of the refusal
_TWO_PATHS = ("os.symlink", "os.link", "os.rename")
_REMEMBERED = 64
_last = threading.local()


def watch() -> None:
    """Note from here on what is about to be done. Cannot be undone in this process."""
    sys.addaudithook(_note)


def _note(event: str, arguments: tuple[Any, ...]) -> None:
    if event in _DEEDS or event == "open":
        if not hasattr(_last, "deeds"):
            _last.deeds = deque(maxlen=_REMEMBERED)
        _last.deeds.append((event, arguments))


def sentence(error: BaseException) -> str:
    """What was tried, where the exception is the system's refusal, or was raised on account of one; else ""."""
    for _ in range(_MOST_CAUSES):
        if isinstance(error, ValueError) and str(error) == _LIMITS_STAND:
            return _in_words("resource.setrlimit", ())
        if isinstance(error, OSError) and error.errno in _TOO_MUCH:
            return _TOO_MUCH[error.errno]
        if isinstance(error, OSError) and error.errno in _REFUSED:
            return _in_words(*_refused(error))
        if (cause := error.__cause__ or error.__context__) is None:
            break
        error = cause
    return ""


def _refused(error: OSError) -> tuple[str, tuple[Any, ...]]:
    """The last deed of those that were announced which may be the one: with a path where the refusal names that path, without one where it names none."""
    named = {
        os.fsdecode(one)
        for one in (error.filename, error.filename2)
        if isinstance(one, str | bytes)
    }
    for event, arguments in reversed(getattr(_last, "deeds", ())):
        if named & {_named(one) for one in arguments[:2]} if named else event not in _ON_PATHS:
            return event, arguments
    return "", ()


def _in_words(event: str, arguments: tuple[Any, ...]) -> str:
    if event == "open":
        path, mode, flags = (*arguments, None, 0)[:3]
        writing = (
            any(letter in mode for letter in "wax+")
            if isinstance(mode, str)
            else bool((flags or 0) & _WRITING)
        )
        deed = (
            f"write to {_named(path)}, outside its own folder"
            if writing
            else f"read {_named(path)}"
        )
    else:
        path = (
            arguments[1]
            if event in _TWO_PATHS and len(arguments) > 1
            else arguments[0]
            if arguments
            else ""
        )
        deed = _DEEDS.get(event, "").format(_named(path))
    return (
        f"it tried to {deed}, which a submission may not do"
        if deed
        else "it tried something that a submission may not do"
    )


def _named(path: object) -> str:
    return os.fsdecode(path)[:200] if isinstance(path, str | bytes | os.PathLike) else "a file"
