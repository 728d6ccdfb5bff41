"""Run a command in a fork of this process, which has Python, torch and the command line imported already: most of a second less each.

What a command writes, where, its exit code and its files are as in a process of its own. What depends on how a process begins (that torch is not
imported, which folder modules come from, a terminal) is tested in real ones.
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
    """What `attn-drill` with these arguments does in this folder.

    Raises:
        subprocess.TimeoutExpired: if it takes longer, in seconds; it is killed then.
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
        told, said = (_read(file.fileno()) for file in (output, errors))
    return subprocess.CompletedProcess([*arguments], code, told, said)


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
    """In the fork: look like a process that has just begun, and be the command."""
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
        commands.main()  # which ends the process
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(_CRASHED)
