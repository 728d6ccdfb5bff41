"""Run a command in a fork of this process, which has already imported torch and the command line.

This saves most of a second for each command. The output, the exit code and the files are the same
as in a new process. Tests of the start of a process use a new process: for example that torch is
not imported, from which folder modules come, or the behaviour in a terminal.
"""

import io
import os
import signal
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from trainer.cli import commands

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
        encoding = environment.get("PYTHONIOENCODING", "utf-8")
        sys.stdin = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)), encoding)
        sys.stdout = io.TextIOWrapper(io.BufferedWriter(io.FileIO(1, "w", closefd=False)), encoding)
        sys.stderr = io.TextIOWrapper(
            io.BufferedWriter(io.FileIO(2, "w", closefd=False)),
            encoding,
            "backslashreplace",
            line_buffering=True,
        )
        os.chdir(cwd)
        os.environ.clear()
        os.environ.update(environment)
        time.tzset()
        warnings.resetwarnings()
        warnings.simplefilter("ignore", DeprecationWarning)
        sys.argv = ["attn-drill", *arguments]
        commands.main()  # ends the process
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(_CRASHED)
