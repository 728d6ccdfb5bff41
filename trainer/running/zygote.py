"""The grader's handle of the zygote: a process with torch imported and nothing else, which forks one worker for every run.

It must be started before any reference is loaded: what is not in its memory, no worker can find in its own. Grader and
zygote speak over a socketpair, so there is no address that a submission could connect to. What the zygote does stands in `nursery`.
"""

from __future__ import annotations

import contextlib
import gc
import json
import os
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from trainer.core.words import GraderError
from trainer.running import nursery, sandbox
from trainer.running.isolation import Isolation, bubblewrap, chosen_isolation, descendants, remove_tree, start_in_bubblewrap
from trainer.running.nursery import line_of
from trainer.running.protocol import REPLY, message

_GONE_SECONDS = 5.0


@dataclass(frozen=True)
class Limits:
    """Bounds on one run of a worker: wall-clock seconds for all of it, and bytes of memory beyond torch's own."""

    seconds: float = 10.0
    memory_bytes: int = 2048 << 20


@dataclass(frozen=True)
class End:
    """How a worker was ended.

    status      its wait status
    killed      whether it was still alive
    ended_for   why the zygote had ended it before: it took more than its share of something
    family      how many processes of its own were left behind, and ended with it
    """

    status: int
    killed: bool
    ended_for: str
    family: int


class Zygote:
    """Start it before anything of `solutions/` is read; close it when done.

    Args:
        hidden: folders of which no worker may read anything.
        isolation: how workers are shut off; by default as this machine can.
    """

    def __init__(self, hidden: Iterable[Path], isolation: Isolation | None = None) -> None:
        self.isolation = isolation or chosen_isolation()
        if self.isolation == "bubblewrap":
            bubblewrap()  # before anything is made that would be left behind
        mine, its = socket.socketpair()
        self._room = tempfile.mkdtemp(prefix="attn-drill-")
        sys.stdout.flush()
        sys.stderr.flush()
        # torch's 200,000 objects stay for good: out of the collector's sight, which would take 60 ms to walk over them.
        gc.freeze()
        self._wrapper: subprocess.Popen[bytes] | None = None
        if self.isolation == "bubblewrap":
            self._wrapper = start_in_bubblewrap(its.fileno(), sandbox.readable_paths(hidden))
        self._pid = self._wrapper.pid if self._wrapper is not None else os.fork()
        if self._pid == 0:
            mine.close()
            nursery.serve(its, self._room, tuple(hidden), self.isolation)
        its.close()
        self._control = mine
        self._answers = mine.makefile("rb")
        self._dismissed = 0  # orders whose answers nobody has read yet

    def start_worker(self, limits: Limits, *, held: bool = False, rehearsed: bool = False) -> tuple[int, socket.socket, int]:
        """Fork a worker; returns its pid, the channel to it, and a descriptor to read what it prints.

        Args:
            held: whether it is to meet the request that is held.
            rehearsed: whether it is to rehearse, because its file comes later.
        """
        return self._start({"do": "run", "seconds": limits.seconds, "memory_bytes": limits.memory_bytes, "held": held, "rehearsed": rehearsed})

    def start_probe(self, limits: Limits, asked: Mapping[str, Any]) -> tuple[int, socket.socket, int]:
        """Fork a worker that tries what a submission might (`probe.try_all`)."""
        return self._start({"do": "probe", "seconds": limits.seconds, "memory_bytes": limits.memory_bytes, "asked": dict(asked)})

    def _start(self, order: dict[str, Any]) -> tuple[int, socket.socket, int]:
        channel, its_channel = socket.socketpair()
        output, its_output = os.pipe()
        try:
            pid = self._ask(order, [its_channel.fileno(), its_output])["pid"]
        except GraderError:
            channel.close()
            os.close(output)
            raise
        finally:
            its_channel.close()
            os.close(its_output)
        return pid, channel, output

    def hold(self, frame: bytes) -> None:
        """Have the zygote read a request once for all workers that are to meet it. It takes the place of the one before."""
        channel, its_channel = socket.socketpair()
        with channel:
            with its_channel:
                self._send({"do": "hold"}, [its_channel.fileno()])
            with contextlib.suppress(OSError):  # the answer says what went wrong
                channel.sendall(message(REPLY, frame))
            self._answer()

    def end_worker(self, pid: int, *, patiently: bool) -> End:
        """Kill a worker and all its family. `patiently`: it seems to be ending alone."""
        return End(**self._ask({"do": "end", "pid": pid, "patiently": patiently}))

    def dismiss_worker(self, pid: int) -> None:
        """The same for a worker that has replied: nobody waits for its end."""
        self._send({"do": "end", "pid": pid, "patiently": False})
        self._dismissed += 1

    def settle(self) -> None:
        """Wait until all that were dismissed are gone."""
        while self._dismissed:
            self._dismissed -= 1
            self._line_of_answer()

    def close(self) -> None:
        """End the zygote; it ends its workers first."""
        with contextlib.suppress(GraderError):  # answers left unread would reset the connection
            self.settle()
        inside = list(descendants(self._wrapper.pid)) if self._wrapper is not None else []
        self._answers.close()
        self._control.close()
        if self._wrapper is not None:
            self._wrapper.wait()
            deadline = time.monotonic() + _GONE_SECONDS
            while any(os.path.exists(f"/proc/{pid}") for pid in inside) and time.monotonic() < deadline:
                time.sleep(0.005)  # bubblewrap's outer process is gone a moment before what it has started
        else:
            with contextlib.suppress(ChildProcessError):
                os.waitpid(self._pid, 0)
        remove_tree(self._room)

    def _ask(self, order: dict[str, Any], descriptors: list[int] | None = None) -> dict[str, Any]:
        self._send(order, descriptors)
        return self._answer()

    def _send(self, order: dict[str, Any], descriptors: list[int] | None = None) -> None:
        try:
            if descriptors:
                socket.send_fds(self._control, [line_of(order)], descriptors)
            else:
                self._control.sendall(line_of(order))
        except OSError as error:
            raise GraderError(f"The process that starts workers is gone ({error}). Run the check again.") from None

    def _answer(self) -> dict[str, Any]:
        self.settle()
        told: dict[str, Any] = json.loads(self._line_of_answer())
        if "error" in told:
            raise GraderError(f"No worker could be started: {told['error']}.")
        return told

    def _line_of_answer(self) -> bytes:
        line = b""
        with contextlib.suppress(ConnectionError):
            line = self._answers.readline()
        if not line:
            raise GraderError("The process that starts workers died. Run the check again; `attn-drill doctor` shows what this machine can do.")
        return line
