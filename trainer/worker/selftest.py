"""Find out what holds a worker on this machine, by having one try. The grader's side of `probe`."""

from __future__ import annotations

import contextlib
import json
import os
import select
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from trainer.sandbox.copy_check import SECONDS, Copies, find_copies
from trainer.sandbox.isolation import FOLDER_BYTES, Isolation
from trainer.worker.channel import HEAD_BYTES, payload_bytes
from trainer.worker.forkserver import MOST_THREADS
from trainer.worker.forkserver_client import ForkServer, Limits, WorkerEnd

_TRAINER = Path(__file__).resolve().parents[1]
_LIMITS = Limits(seconds=20.0, memory_bytes=1 << 30)
_LIMITS_OF_SEARCH = Limits(seconds=SECONDS + 20.0, memory_bytes=1 << 30)
COPIES = "find a reference or its cases"


@dataclass(frozen=True)
class Isolated:
    """What holds a worker.

    how     the means
    held    what a submission may not do, and whether it could not
    works   what it must be able to do, and whether it could
    copies  the references and cases that it can read
    """

    how: Isolation
    held: Mapping[str, bool]
    works: Mapping[str, bool]
    copies: Copies = field(default_factory=Copies)

    @property
    def open(self) -> list[str]:
        """What a submission could do though it may not."""
        return [what for what, is_held in self.held.items() if not is_held]


def probe_isolation(hidden: Iterable[Path], isolation: Isolation | None = None) -> Isolated:
    """What holds on this machine, tried in a worker of a fork server of its own."""
    hidden = tuple(hidden)
    fork_server = ForkServer(hidden, isolation)
    try:
        return probe_fork_server(fork_server, hidden)
    finally:
        fork_server.close()


def probe_fork_server(fork_server: ForkServer, hidden: Iterable[Path]) -> Isolated:
    """The same with the workers of this fork server."""
    hidden = tuple(hidden)
    solutions = next(
        (path for folder in hidden for path in sorted(folder.rglob("solution.py"))), None
    )
    with tempfile.TemporaryDirectory(prefix="attn-drill-probe-") as folder:
        other = Path(folder, "other.py")
        other.write_text("another's work", encoding="utf-8")
        leased = Path(folder, "module.pyc")
        leased.touch()
        asked = {
            "what": "all",
            "solutions": str(solutions or other),
            "engine": str(_TRAINER / "grading" / "judge.py"),
            "at home": _some_of(Path.home()),
            "other": str(other),
            "leased": _installed(leased),
            "outside": str(Path(folder, "outside")),
            "grader": os.getpid(),
            "bytes_of_memory": 2 * _LIMITS.memory_bytes,
        }
        told, _ = _ask(fork_server, asked)
    disk, ended_at_disk = _ask(fork_server, {"what": "disk", "bytes": FOLDER_BYTES + (8 << 20)})
    threads, ended_at_threads = _ask(fork_server, {"what": "threads", "count": MOST_THREADS + 50})
    held = dict(told.get("tried", {"be probed": False}))
    held["outlive its time"] = not any(_lives(pid) for pid in told.get("left", []))
    held["fill the disk"] = bool(disk.get("refused") or ended_at_disk.ended_for)
    held["start threads without end"] = bool(threads.get("refused") or ended_at_threads.ended_for)
    copies = copies_readable_by(fork_server, hidden)
    held[COPIES] = copies.none
    works = {
        "threads that torch needs": bool(told.get("threads")),
        "a folder of its own": bool(told.get("writes")),
    }
    return Isolated(fork_server.isolation, held, works, copies)


def copies_readable_by(fork_server: ForkServer, hidden: Iterable[Path]) -> Copies:
    """Return the references and cases that a worker of this fork server can read, wherever they lie."""

    def ask(asked: Mapping[str, Any]) -> Any:
        told = _ask(fork_server, {"what": "copies", **asked}, _LIMITS_OF_SEARCH)[0]
        return None if told == {} else told

    return find_copies(ask, hidden)


def _installed(otherwise: Path) -> str:
    """Return a compiled module that workers may read; the other file where there is none."""
    cached = json.__spec__.cached if json.__spec__ is not None else None
    return cached if cached is not None and os.path.exists(cached) else str(otherwise)


def _some_of(home: Path) -> list[str]:
    """A few things in the home folder that this process can read, or the folder itself."""
    with contextlib.suppress(OSError):
        found = [
            str(path)
            for path in sorted(home.iterdir())[:50]
            if path.is_file() and os.access(path, os.R_OK)
        ]
        return found[:5] or [str(home)]
    return [str(home)]


def _ask(
    fork_server: ForkServer, asked: Mapping[str, Any], limits: Limits = _LIMITS
) -> tuple[Any, WorkerEnd]:
    """What a worker tells, {} where it was ended instead; and how it ended."""
    pid, requests, replies, output = fork_server.start_probe(limits, asked)
    told: Any = {}
    try:
        told = _told(replies, limits.seconds)
    finally:
        os.close(requests)
        os.close(replies)
        end = fork_server.end_worker(pid, patiently=not told)
        os.close(output)
    return told, end


def _told(replies: int, seconds: float) -> Any:
    deadline = time.monotonic() + seconds
    received = b""
    while (left := deadline - time.monotonic()) > 0 and select.select([replies], [], [], left)[0]:
        part = os.read(replies, 1 << 16)
        if not part:
            break
        received += part
        if len(received) >= HEAD_BYTES and len(received) >= HEAD_BYTES + payload_bytes(received):
            return json.loads(received[HEAD_BYTES:])
    return {}


def _lives(pid: int) -> bool:
    with contextlib.suppress(ProcessLookupError):
        os.kill(pid, 0)
        return True
    return False
