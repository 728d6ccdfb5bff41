"""What acts on a whole fork server: folders of bounded size, looking after workers, one request for many, bubblewrap; and that nothing is left behind."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.support.isolation import family, grade, grader_by
from tests.support.running import RIGHT_SUM, grade_prefix_sum
from tests.support.sandbox import linux
from trainer.grading.grader import Grader
from trainer.model.errors import GraderError
from trainer.sandbox.isolation import (
    Folders,
)
from trainer.worker.forkserver_client import Limits


@linux
def test_a_grader_that_ends_in_the_midst_takes_all_with_it() -> None:
    """Workers that wait or run when the grader closes go with the fork server, and so do their folders."""
    with grader_by() as grader:
        room = grader.workers._fork_server._room
        pids = [grader.workers._fork_server.start_worker(Limits()) for _ in range(3)]
        assert family(grader) >= {pid for pid, *_ in pids}
    for pid, *descriptors in pids:
        for descriptor in descriptors:
            os.close(descriptor)
        assert not os.path.exists(f"/proc/{pid}")
    assert not os.path.exists(room)


@linux
def test_workers_that_cannot_be_started_cost_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """A fork server that gets no folder for a worker says so each time, keeps no descriptor of it, and goes on."""

    def refuse(self: Folders) -> str:
        raise OSError("no folder today")

    monkeypatch.setattr(Folders, "make", refuse)
    with grader_by() as grader:
        there = f"/proc/{grader.workers._fork_server._pid}/fd"
        before = None
        for _ in range(5):
            with pytest.raises(
                GraderError, match="No worker could be started: OSError: no folder today"
            ):
                grade(grader, "pass")
            before = before or os.listdir(there)
        assert len(os.listdir(there)) == len(before or [])


def test_a_request_that_is_none_is_not_held() -> None:
    """A fork server that is given garbage to hold says so, and goes on."""
    with grader_by() as grader:
        for frame in (b"", b"nonsense", bytes(100)):
            with pytest.raises(GraderError, match="No worker could be started"):
                grader.workers._fork_server.preload(frame)
        assert grade(grader, "pass").verdict == "passed"


def test_nothing_is_left_behind(hasty: Grader, tmp_path: Path) -> None:
    """A worker that is killed takes its folder with it, and no process stays."""
    note = "open('/dev/null'); import os, sys; print(os.getpid(), os.getcwd(), flush=True)\n    while True: pass"
    report = grade_prefix_sum(hasty, RIGHT_SUM.format(note))
    pid, folder = report.stdout.split()
    assert not os.path.exists(f"/proc/{pid}")
    assert not os.path.exists(folder)
