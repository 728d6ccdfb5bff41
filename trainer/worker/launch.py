"""Start a process whose memory tells nothing about the person who started it, and fork the fork server there.

A fork copies everything: the environment and the arguments that the kernel put on the stack, and all that Python has
read so far. So a command that grades starts Python anew with an environment of its own (`clean_environment`) and
without arguments, imports torch, forks the fork server, and only then reads from an inherited file which environment,
arguments and folder it is to work with.
"""

from __future__ import annotations

import gc
import importlib
import json
import os
import signal
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from typing import NoReturn

from trainer.sandbox.environment import ONE_THREAD, ROOT, clean_environment, command


def handoff(module: str, arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Write what a launched process is to do into a nameless file.

    Args:
        module: the module whose `main` it calls.
        arguments: its `sys.argv`, without the program's name.
        environment: its `os.environ`.

    Returns:
        A descriptor of the file, at its beginning; the caller closes it.
    """
    told = {
        "module": module,
        "arguments": [sys.argv[0], *arguments],
        "environment": dict(environment),
        "folder": os.getcwd(),
        "path": sys.path,
    }
    text = json.dumps(told).encode()
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("attn-drill")
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.write(descriptor, text)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def replace_this_process(module: str, arguments: Sequence[str]) -> NoReturn:
    """Go on as a clean process with the same process id, terminal and descriptors, and call the module's `main`.

    Raises:
        OSError: if Python cannot be started again; nothing has changed then.
    """
    descriptor = handoff(module, arguments, os.environ)
    os.set_inheritable(descriptor, True)
    folder = os.getcwd()
    os.chdir(ROOT)
    try:
        os.execve(
            sys.executable,
            [*command(), __name__, str(descriptor)],
            clean_environment(os.environ),
        )
    except OSError:
        os.chdir(folder)
        os.close(descriptor)
        raise


@contextmanager
def ending_at_once() -> Iterator[None]:
    """While active, Ctrl-C ends this process with exit code 130: the command that handles it is not
    there yet.

    A KeyboardInterrupt can be lost here, for example in a function that Python calls after a fork.
    """
    usual = signal.getsignal(signal.SIGINT)
    if (
        usual is not signal.default_int_handler
    ):  # it is ignored, where a script runs in the background
        yield
        return
    signal.signal(signal.SIGINT, _end)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)


def _end(*_: object) -> None:
    os.write(2, b"Interrupted.\n")
    os._exit(130)


def main() -> None:
    """Import torch, fork the fork server, then become what the inherited file says."""
    with ending_at_once():
        _prepare()
        with open(int(sys.argv[1]), encoding="utf-8") as file:
            told = json.load(file)
        os.environ.clear()
        os.environ.update(told["environment"])
        os.environ.update(ONE_THREAD)
        sys.argv[:] = told["arguments"]
        sys.path[:] = told["path"]
        os.chdir(told["folder"])
        module = importlib.import_module(told["module"])
    module.main()


def _prepare() -> None:
    # The collector would walk over every object that torch makes while it is imported.
    gc.disable()
    try:
        from trainer.worker import forkserver_client  # noqa: PLC0415  # imports torch

        forkserver_client.prepare()
    except ImportError:
        pass  # the command says it when it imports torch itself
    gc.enable()


if __name__ == "__main__":
    # As a module of its own name, not as `__main__`: others import it too.
    importlib.import_module("trainer.worker.launch").main()
