"""Start a process that knows nothing about the user, and fork the fork server from it.

A fork copies all memory: the environment and the arguments, which the kernel put on the stack, and
everything that Python has read so far. So a command that grades first starts Python again with a
short environment (`clean_environment`) and without arguments. The new process imports torch and
forks the fork server. Only then does it read its real environment, arguments and folder from an
inherited file.
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

from trainer.sandbox.environment import ONE_THREAD, QUIET, ROOT, clean_environment, command


def handoff(module: str, arguments: Sequence[str], environment: Mapping[str, str]) -> int:
    """Write the task of a launched process into a file without a name.

    Args:
        module: the module whose `main` the process calls.
        arguments: the process's `sys.argv`, without the program's name.
        environment: the process's `os.environ`.

    Returns:
        A descriptor of the file, positioned at the beginning. The caller closes the descriptor.
    """
    task = {
        "module": module,
        "arguments": [sys.argv[0], *arguments],
        "environment": dict(environment),
        "folder": os.getcwd(),
        "path": sys.path,
    }
    text = json.dumps(task).encode()
    if hasattr(os, "memfd_create"):
        descriptor = os.memfd_create("attn-drill")
    else:
        with tempfile.TemporaryFile() as file:
            descriptor = os.dup(file.fileno())
    os.write(descriptor, text)
    os.lseek(descriptor, 0, os.SEEK_SET)
    return descriptor


def replace_this_process(module: str, arguments: Sequence[str]) -> NoReturn:
    """Replace this process by a clean one, which calls the module's `main`.

    The process id, the terminal and the open descriptors stay the same.

    Args:
        module: the module whose `main` is called.
        arguments: the new `sys.argv`, without the program's name.

    Raises:
        OSError: if Python cannot be started again. Nothing has changed then.
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
def exit_on_interrupt() -> Iterator[None]:
    """Make Ctrl-C end this process with exit code 130 while the context is active.

    The command that would handle Ctrl-C is not yet running, and a KeyboardInterrupt can be lost
    here, for example in a function that Python calls after a fork.
    """
    usual = signal.getsignal(signal.SIGINT)
    if usual is not signal.default_int_handler:  # a script in the background ignores SIGINT
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
    """Import torch and fork the fork server, then carry out the task in the inherited file."""
    with exit_on_interrupt():
        _prepare()
        with open(int(sys.argv[1]), encoding="utf-8") as file:
            task = json.load(file)
        os.environ.clear()
        os.environ.update(task["environment"])
        os.environ.update(ONE_THREAD | QUIET)
        sys.argv[:] = task["arguments"]
        sys.path[:] = task["path"]
        os.chdir(task["folder"])
        module = importlib.import_module(task["module"])
    module.main()


def _prepare() -> None:
    # The garbage collector would visit every object that the import of torch creates.
    gc.disable()
    try:
        from trainer.worker import forkserver_client  # noqa: PLC0415  # imports torch

        forkserver_client.prepare()
    except ImportError:
        pass  # the command reports this error when it imports torch itself
    gc.enable()


if __name__ == "__main__":
    # Other modules import `trainer.worker.launch`, so the code must not run a second time as
    # `__main__`.
    importlib.import_module("trainer.worker.launch").main()
