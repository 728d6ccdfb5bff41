"""Try for real what the sandbox forbids, in a child process that has been confined. No torch."""

from __future__ import annotations

import ctypes
import json
import os
import resource
import socket
import tempfile
from collections.abc import Callable, Iterable
from pathlib import Path

from trainer.running import sandbox


def probe_isolation(hidden: Iterable[Path]) -> dict[str, bool]:
    """What a submission cannot do on this machine: words -> whether it is held.

    An empty dict where there is no fork.
    """
    if not hasattr(os, "fork"):
        return {}
    hidden = tuple(hidden)
    readable = sandbox.readable_paths(hidden)
    secret = next((path for folder in hidden for path in folder.rglob("*.py")), None)
    read_end, write_end = os.pipe()
    with tempfile.TemporaryDirectory(prefix="attn-drill-") as folder:
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                os.close(read_end)
                limited = sandbox.limit(1 << 30, 10)
                sandbox.confine(readable, folder)
                os.write(write_end, json.dumps(_try_all(secret, limited)).encode())
                code = 0
            finally:
                os._exit(code)
        os.close(write_end)
        with os.fdopen(read_end, "rb") as pipe:
            answer = pipe.read()
        os.waitpid(pid, 0)
    found: dict[str, bool] = json.loads(answer) if answer else {}
    return found


def _try_all(secret: Path | None, limited: bool) -> dict[str, bool]:
    parent = os.getppid()
    return {
        "open a network socket": _fails(lambda: socket.socket().close()),
        "read the solutions": secret is not None and _fails(secret.read_bytes),
        "read the home folder": _fails(lambda: os.listdir(Path.home())),
        "write outside its own folder": _fails(lambda: os.close(os.open("/tmp/attn-drill-probe", os.O_CREAT | os.O_WRONLY, 0o600))),
        "start a process": _fails(_fork),
        "signal the grader": _fails(lambda: os.kill(parent, 0)),
        "read the grader's memory": _fails(lambda: open(f"/proc/{parent}/mem", "rb").close()),
        "get round the memory limit": limited and _fails(lambda: os.close(os.memfd_create("probe"))),
        "raise its own limits": _fails(_raise_limit),
        "gain privileges": _fails(_keep_privileges),
    }


def _fails(action: Callable[[], object]) -> bool:
    try:
        action()
    except (OSError, ValueError, AttributeError):
        return True
    return False


def _fork() -> None:
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    os.waitpid(pid, 0)


def _raise_limit() -> None:
    resource.setrlimit(resource.RLIMIT_CPU, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))


def _keep_privileges() -> None:
    """Fails if a new program could gain no privileges."""
    if ctypes.CDLL(None).prctl(39, 0, 0, 0, 0) == 1:
        raise PermissionError
