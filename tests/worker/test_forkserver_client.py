"""The grader's side of the fork server: start and end of workers, and errors."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from attn_drill.grading.grader import Grader
from attn_drill.model.challenge import Limits
from attn_drill.model.errors import GraderError
from attn_drill.worker import _forkserver, forkserver_client
from tests.support.isolation import family, grade, grader_by
from tests.support.running import RIGHT_SUM, grade_prefix_sum
from tests.support.sandbox import linux


@linux
def test_closing_the_grader_ends_waiting_workers() -> None:
    """Workers that still wait end with the fork server, and their folders are removed."""
    with grader_by() as grader:
        room = grader.workers._fork_server._room
        workers = [grader.workers._fork_server.start_worker(Limits()) for _ in range(3)]
        assert family(grader) >= {worker.pid for worker in workers}
    for worker in workers:
        worker.close_pipes()
        assert not os.path.exists(f"/proc/{worker.pid}")
    assert not os.path.exists(room)


def test_a_folder_is_removed_with_all_that_a_worker_left_next_to_it() -> None:
    """The folders of other workers stay. Without Landlock, a worker may write next to its own."""
    with grader_by("limits") as grader:
        server = grader.workers._fork_server
        other = server.start_worker(Limits())
        (folder,) = os.listdir(server._room)
        left = "os.makedirs('../left/a', exist_ok=True); os.path.exists('../link') or "
        report = grade(grader, left + "os.symlink('/', '../link')")
        assert report.verdict == "passed"
        assert os.listdir(server._room) == [folder]
        server.end_worker(other.pid, patiently=False)
        other.close_pipes()


@linux
@pytest.mark.thorough
def test_a_lost_fork_server_is_replaced_by_one_of_a_fresh_interpreter(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It imports torch itself, and knows nothing of the process that starts it."""
    with grader_by() as grader:
        monkeypatch.setattr(forkserver_client, "start", forkserver_client.start_anew)
        os.kill(grader.workers._fork_server._pid, signal.SIGKILL)
        assert grade(grader, "pass").verdict == "passed"
        pid = grader.workers._fork_server._pid
        assert b"serve_alone" in Path(f"/proc/{pid}/cmdline").read_bytes()


@linux
def test_a_failed_start_of_a_worker_leaves_no_descriptor(monkeypatch: pytest.MonkeyPatch) -> None:
    """If no folder can be made, each start fails with an error, and the fork server lives on."""

    make = _forkserver.tempfile.mkdtemp

    def refuse(dir: str | None = None, **given: str) -> str:
        if dir is not None:
            raise OSError("no folder today")
        return make(**given)

    monkeypatch.setattr(_forkserver.tempfile, "mkdtemp", refuse)
    with grader_by() as grader:
        descriptors_folder = f"/proc/{grader.workers._fork_server._pid}/fd"
        before = None
        for _ in range(5):
            with pytest.raises(
                GraderError, match="No worker could be started: OSError: no folder today"
            ):
                grade(grader, "pass")
            before = before or os.listdir(descriptors_folder)
        assert len(os.listdir(descriptors_folder)) == len(before or [])


def test_preloading_garbage_is_an_error() -> None:
    """The fork server reports an unreadable request and lives on."""
    with grader_by() as grader:
        for frame in (b"", b"nonsense", bytes(100)):
            with pytest.raises(GraderError, match="No worker could be started"):
                grader.workers._fork_server.preload(frame)
        assert grade(grader, "pass").verdict == "passed"


@pytest.mark.thorough
def test_a_killed_worker_leaves_no_folder_and_no_process(hasty: Grader, tmp_path: Path) -> None:
    """A worker that runs out of time is gone, with its folder, when the report arrives."""
    note = (
        "open('/dev/null'); import os, sys; print(os.getpid(), os.getcwd(), flush=True)\n"
        "    while True: pass"
    )
    report = grade_prefix_sum(hasty, RIGHT_SUM.format(note))
    pid, folder = report.stdout.split()
    assert not os.path.exists(f"/proc/{pid}")
    assert not os.path.exists(folder)
