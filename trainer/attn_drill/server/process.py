"""Start, use and end a grading server from its client. This module does not import torch."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import IO

from attn_drill.model.limits import DEFAULT
from attn_drill.sandbox import environment
from attn_drill.server.messages import (
    CheckItems,
    Grade,
    Hello,
    Ready,
    Reply,
    Request,
    Verdict,
    read_message,
    unpacked_reply,
    write_message,
)

_MAIN = "attn_drill.server"
_END_SECONDS = 2.0
_PATIENCE_SECONDS = 300.0  # for the import of torch, a diagnosis, or a machine that is blocked
_TIMES_THE_LIMIT = 60  # the limit is CPU time, and many submissions may share a core


class ServerLostError(Exception):
    """Raised if the server ended, or did not reply within the longest possible time."""


def start(errors: IO[bytes]) -> subprocess.Popen[bytes]:
    """Start the process of a grading server, with requests on stdin and replies on stdout."""
    # It has no arguments and a short environment, because it forks its fork server before it may
    # know anything. The first request tells it the rest.
    return subprocess.Popen(
        [sys.executable, "-m", _MAIN],
        # In the user's folder Python would import files that are named like modules.
        cwd=environment.ROOT,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=errors,
        env=environment.clean_environment(os.environ),
        start_new_session=True,  # Ctrl-C in the terminal must reach the client only
    )


class ServerProcess:
    """A grading server on this machine. A request waits until it has imported torch.

    Args:
        packs: folders of packs. None if the packs are not known yet: then `greet` must follow.
    """

    def __init__(self, packs: Sequence[Path | str] | None) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  # closed by `close`
        self._process = start(self._errors)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._requests: IO[bytes] = self._process.stdin
        self.output: IO[bytes] = self._process.stdout
        if packs is not None:
            self.greet(packs)

    def greet(self, packs: Sequence[Path | str]) -> None:
        """Tell the server its packs and the user's environment."""
        hello = Hello(tuple(map(str, packs)), dict(os.environ), tuple(sys.path))
        self.send(hello)  # if the process has ended, the first request finds out why

    @property
    def pid(self) -> int:
        """The process id."""
        return self._process.pid

    def send(self, request: Request) -> bool:
        """Send a request; return False if the process has ended."""
        try:
            write_message(self._requests.fileno(), request)
        except (OSError, ValueError):
            return False
        return True

    def ask(self, request: Request) -> Reply:
        """Send a request and wait for its last reply; ServerLostError if there is none."""
        patience = _PATIENCE_SECONDS
        if isinstance(request, Grade):
            patience += _TIMES_THE_LIMIT * request.seconds
        if isinstance(request, CheckItems):
            patience += _TIMES_THE_LIMIT * DEFAULT.seconds * len(request.items)
        deadline = time.monotonic() + patience
        if not self.send(request):
            raise ServerLostError(self.last_words() or "the grading process ended")
        try:
            while True:
                body = read_message(self.output.fileno(), deadline)
                if body is None:
                    raise EOFError("the grading process ended")
                reply = unpacked_reply(body)
                is_early = isinstance(reply, Verdict) and not reply.is_final
                if not isinstance(reply, Ready) and not is_early and reply.id == request.id:
                    return reply
        except (OSError, ValueError, EOFError) as error:
            raise ServerLostError(self.last_words() or str(error) or type(error).__name__) from None

    def last_words(self) -> str:
        """Return the last line that the process wrote to its stderr, or ""."""
        try:
            self._errors.seek(0)
            lines = self._errors.read()[-4000:].decode("utf-8", "replace").strip().splitlines()
        except ValueError:  # another thread has closed it
            return ""
        return lines[-1] if lines else ""

    def leave(self) -> None:
        """Let the process end by itself, and do not wait for it."""
        for stream in (self._requests, self.output, self._errors):
            with contextlib.suppress(OSError, ValueError):
                stream.close()
        self._process.returncode = 0  # nobody waits for it

    def close(self, patience: float = _END_SECONDS) -> None:
        """End the process and its workers. Kill it after `patience` seconds."""
        with contextlib.suppress(OSError, ValueError):
            self._requests.close()
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        with contextlib.suppress(OSError, ValueError):
            self.output.close()
        self._errors.close()
