"""Run commands and grading servers in forks of this process, which has already imported torch.

This saves more than a second for each of them. The output, the exit code and the files are the same
as in a new process. Tests of the start of a process use a new process: for example that torch is
not imported, from which folder modules come, or the behaviour in a terminal.
"""

import io
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import traceback
import warnings
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import IO, NoReturn

from attn_drill.app import grade_file  # noqa: F401  # most commands import these three modules late
from attn_drill.cli import _commands
from attn_drill.practice import schedule  # noqa: F401
from attn_drill.report import terminal  # noqa: F401
from attn_drill.sandbox.environment import ONE_THREAD
from attn_drill.server import __main__ as server_main

_CRASHED = 70


def run(
    arguments: Sequence[str],
    cwd: Path,
    environment: Mapping[str, str],
    typed: str = "",
    timeout: float = 120.0,
) -> subprocess.CompletedProcess[str]:
    """Run `attn-drill` in a folder and return its result.

    Args:
        arguments: the command line without `attn-drill`.
        cwd: the folder.
        environment: all environment variables of the command.
        typed: the standard input.
        timeout: seconds after which the command is killed.

    Raises:
        subprocess.TimeoutExpired: if the command takes longer than `timeout`.
    """
    with (
        tempfile.TemporaryFile() as given,
        tempfile.TemporaryFile() as output,
        tempfile.TemporaryFile() as errors,
    ):
        given.write(typed.encode())
        given.seek(0)
        pid = os.fork()
        if pid == 0:
            for descriptor, file in enumerate((given, output, errors)):
                os.dup2(file.fileno(), descriptor)
            _command(arguments, cwd, environment)
        code = os.waitstatus_to_exitcode(_waited(pid, timeout, arguments))
        out, err = (_read(file.fileno()) for file in (output, errors))
    return subprocess.CompletedProcess([*arguments], code, out, err)


def _waited(pid: int, seconds: float, arguments: Sequence[str]) -> int:
    deadline = time.monotonic() + seconds
    while True:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            return status
        if time.monotonic() > deadline:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
            raise subprocess.TimeoutExpired([*arguments], seconds)
        time.sleep(0.002)


def _read(descriptor: int) -> str:
    os.lseek(descriptor, 0, os.SEEK_SET)
    with open(descriptor, encoding="utf-8", closefd=False) as file:
        return file.read()


def _command(arguments: Sequence[str], cwd: Path, environment: Mapping[str, str]) -> NoReturn:
    """Run the command in the fork, which first imitates a new process."""
    try:
        _open_streams(environment.get("PYTHONIOENCODING", "utf-8"))
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(environment)
        time.tzset()
        sys.argv = ["attn-drill", *arguments]
        _commands.main()  # ends the process
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(_CRASHED)


def _open_streams(encoding: str) -> None:
    """Open the standard streams on the descriptors 0 to 2, and show warnings as a new process."""
    sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)), encoding)
    sys.stdout = io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "w", closefd=False)), encoding)
    sys.stderr = io.TextIOWrapper(
        io.BufferedWriter(io.FileIO(2, "w", closefd=False)),
        encoding,
        "backslashreplace",
        line_buffering=True,
    )
    warnings.resetwarnings()
    warnings.simplefilter("ignore", DeprecationWarning)


class ForkedServer:
    """A grading server in a fork of this process, with those methods of Popen that clients use.

    Args:
        errors: the file for its stderr.
    """

    def __init__(self, errors: IO[bytes]) -> None:
        given, requests = os.pipe()
        replies, written = os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            for descriptor, own in enumerate((given, written, errors.fileno())):
                os.dup2(own, descriptor)
            _forget_descriptors()
            _serve()
        os.close(given)
        os.close(written)
        self.stdin, self.stdout = os.fdopen(requests, "wb"), os.fdopen(replies, "rb")
        self._code: int | None = None
        self._waiting = threading.Lock()

    def wait(self, timeout: float = 120.0) -> int:
        """Wait for the end of the server and return its exit code.

        Raises:
            subprocess.TimeoutExpired: if the server has not ended after so many seconds.
        """
        deadline = time.monotonic() + timeout
        with self._waiting:  # several threads may close the same server
            while self._code is None:
                try:
                    done, status = os.waitpid(self.pid, os.WNOHANG)
                except ChildProcessError:  # a forked command inherited this server of the test
                    done, status = self.pid, 0
                if done:
                    self._code = os.waitstatus_to_exitcode(status)
                elif time.monotonic() > deadline:
                    raise subprocess.TimeoutExpired("a forked server", timeout)
                else:
                    time.sleep(0.002)
        return self._code

    def kill(self) -> None:
        """Kill the server, if it has not been waited for."""
        with self._waiting:
            if self._code is None:
                os.kill(self.pid, signal.SIGKILL)


def _forget_descriptors() -> None:
    """Point all descriptors from 3 on to nowhere.

    Otherwise this process would keep the pipes and sockets of other servers and graders open, and
    these would not notice that the test has closed them. The numbers stay in use, because objects
    of the test still close them here.
    """
    nowhere = os.open(os.devnull, os.O_RDWR)
    for name in os.listdir("/dev/fd"):
        with suppress(OSError):  # the descriptor of the list itself is closed already
            if int(name) > 2 and int(name) != nowhere:
                os.fstat(int(name))
                os.dup2(nowhere, int(name), inheritable=False)


def _serve() -> NoReturn:
    """Serve in the fork, which first imitates a new process."""
    code = _CRASHED
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)  # it belongs to the event loop of a session
        _open_streams("utf-8")
        os.environ.update(ONE_THREAD)
        sys.argv = ["server"]
        server_main.main()
        code = 0
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)
