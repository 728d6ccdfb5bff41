"""A grading process as whoever starts it sees it: started, spoken to through its stdin and stdout, ended.

Nothing here imports torch.
"""

from __future__ import annotations

import contextlib
import os
import subprocess
import tempfile
from typing import IO

from trainer.running import launch


class GradingProcess:
    """A module of ours at work in a process of its own. It ends with its stdin, and its workers with it.

    Args:
        module: the module's full name.
        words: its arguments.
    """

    def __init__(self, module: str, *words: str) -> None:
        self._errors: IO[bytes] = tempfile.TemporaryFile()  # noqa: SIM115  # as long as the process lives
        told = launch.handoff(module, words, os.environ)
        try:
            self._process = subprocess.Popen(
                [*launch.command(), launch.__name__, str(told)],
                cwd=launch.ROOT,  # not the user's folder: a file there named like a module would be imported
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                env=launch.clean_environment(os.environ),
                pass_fds=(told,),
                start_new_session=True,  # Ctrl-C in the terminal is for whoever has started it
            )
        finally:
            os.close(told)
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self.orders: IO[bytes] = self._process.stdin
        self.answers: IO[bytes] = self._process.stdout

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def has_ended(self) -> bool:
        """Whether it is gone."""
        return self._process.poll() is not None

    def send(self, message: bytes) -> None:
        """Send an order.

        Raises:
            OSError, ValueError: where the process is gone or closed.
        """
        self.orders.write(message)
        self.orders.flush()

    def last_words(self) -> str:
        """The last line that it wrote to its stderr, or ""; "" too once it is closed, as another thread may have done."""
        try:
            self._errors.seek(0)
            lines = self._errors.read()[-4000:].decode("utf-8", "replace").strip().splitlines()
        except ValueError:
            return ""
        return lines[-1] if lines else ""

    def close(self, patience: float) -> None:
        """Close its stdin; kill it where it has not ended so many seconds later."""
        with contextlib.suppress(OSError, ValueError):
            self.orders.close()
        try:
            self._process.wait(patience)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        self._errors.close()
