"""The fork server: limits on its workers, preloaded requests, time, and nothing left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch

from attn_drill.grading.case_set import load_case_set
from attn_drill.grading.grader import Grader
from attn_drill.packs import pack_reader
from attn_drill.sandbox.isolation import FOLDER_BYTES, Isolation, used_bytes
from attn_drill.worker import _forkserver
from attn_drill.worker.case_runner import CaseRunner
from attn_drill.worker.protocol import Request, SubmittedFile, decode
from attn_drill.worker.worker_client import WorkerRun
from tests.support.grading import RIGHT_SUM, grade_prefix_sum, report_of
from tests.support.isolation import (
    RIGHT,
    SOURCE,
    SUBMITTED,
    SUMS,
    family,
    grade,
    grader_by,
    linux,
    message_of,
    needs_bubblewrap,
    without_time,
)

# The tests with the kernel's isolation find the same faults first.
LIMITS = pytest.param("limits", marks=pytest.mark.thorough)


FILL = """n = 0
    for n in range(2000):
        open(f'{n}', 'wb').write(bytes(1 << 20))
        print(n, flush=True)
        time.sleep(0.001)"""


@pytest.mark.parametrize("how", [None, LIMITS])
def test_a_worker_that_fills_its_folder_is_ended(how: Isolation | None) -> None:
    """The fork server ends the worker before it has written much too much.

    The report gives the reason.
    """
    with grader_by(how) as grader:
        report = grade(grader, FILL)
        assert report.verdict == "error"
        assert "it wrote more than the 64 MiB that a submission may write" in message_of(report)
        written = 1 + int(report.stdout.split()[-1])
        assert FOLDER_BYTES <= (1 + written) << 20 <= 8 * FOLDER_BYTES
        assert bytes_left(grader) == 0
        assert grade(grader, "pass").verdict == "passed"


def test_unlinked_open_files_count() -> None:
    """An unlinked file takes up space on the disk as long as it is open."""
    body = (
        "kept = []\n"
        "    for n in range(10):\n"
        "        kept.append(open(f'{n}', 'wb'))\n"
        "        os.unlink(f'{n}')\n"
        "        kept[-1].write(bytes(8 << 20))\n"
        "    time.sleep(60)"
    )
    with grader_by() as grader:
        assert "it wrote more than the 64 MiB" in message_of(grade(grader, body, seconds=20))


@pytest.mark.thorough
def test_a_worker_that_makes_too_many_files_is_ended() -> None:
    """Every empty file counts as one block."""
    with grader_by() as grader:
        report = grade(
            grader,
            "for n in range(30_000):\n        open(f'{n}', 'w').close()\n    time.sleep(60)",
            seconds=30,
        )
        assert "it wrote more than" in message_of(report)
        assert bytes_left(grader) == 0


def test_a_worker_that_writes_little_is_not_ended() -> None:
    """A worker may write a part of the limit again and again."""
    body = (
        "for n in range(6 if reverse and not x.requires_grad else 0):\n"
        "        open('f', 'wb').write(bytes(15 << 20))\n"
        "        time.sleep(0.05)"
    )
    with grader_by() as grader:
        assert grade(grader, body).verdict == "passed"


@pytest.mark.thorough
@linux
@pytest.mark.parametrize("how", [None, LIMITS])
def test_a_worker_with_too_many_threads_is_ended(how: Isolation | None) -> None:
    """A worker may start 100 threads. 400 threads end it, and the report gives the reason."""
    body = (
        "import threading\n"
        "    threading.stack_size(64 << 10)\n"
        "    for _ in range({}):\n"
        "        threading.Thread(target=time.sleep, args=({},), daemon=True).start()\n"
        "    time.sleep({})"
    )
    with grader_by(how) as grader:
        few = grade(
            grader,
            "if len(x) == 3:\n        "
            + body.format(100, 0.2, 0.2).replace("\n    ", "\n        "),
        )
        assert few.verdict == "passed", message_of(few)
        report = grade(grader, body.format(400, 60, 60))
        assert report.verdict == "error"
        assert "threads; at most 256 are allowed" in message_of(report)
        assert grade(grader, "pass").verdict == "passed"


STARTS = {
    "as orphans": (
        "for _ in range(40):\n"
        "        if os.fork() == 0:\n"
        "            if os.fork() == 0:\n"
        "                time.sleep(60)\n"
        "            os._exit(0)\n"
        "    time.sleep(60)"
    ),
    "from the first thread": (
        "for _ in range(40):\n"
        "        if os.fork() == 0:\n"
        "            os.setsid()\n"
        "            time.sleep(60)\n"
        "    time.sleep(60)"
    ),
    "from another thread": (
        "import threading\n"
        "    def go():\n"
        "        for _ in range(40):\n"
        "            if os.fork() == 0:\n"
        "                time.sleep(60)\n"
        "        time.sleep(60)\n"
        "    threading.Thread(target=go).start()\n"
        "    time.sleep(60)"
    ),
    "by a child that has ended": (
        "if os.fork() == 0:\n"
        "        for _ in range(40):\n"
        "            if os.fork() == 0:\n"
        "                time.sleep(60)\n"
        "        os._exit(0)\n"
        "    time.sleep(60)"
    ),
}


@pytest.mark.thorough
@pytest.mark.sampled(2)
@linux
@pytest.mark.parametrize("body", STARTS.values(), ids=STARTS)
def test_a_worker_with_too_many_processes_is_ended(body: str) -> None:
    """Without a sandbox, dozens of processes end the worker and all its descendants."""
    with grader_by("limits") as grader:
        report = grade(grader, body, seconds=20)
        assert report.verdict == "error"
        assert "processes; a submission may start none" in message_of(report)
        assert family(grader) == set()
        assert bytes_left(grader) == 0
        assert grade(grader, "pass").verdict == "passed"


@linux
def test_processes_of_a_worker_end_with_it() -> None:
    """Processes that a right answer leaves behind, even in other sessions, end with the worker."""
    body = (
        "if reverse and not x.requires_grad and os.fork() == 0:\n"
        "        os.setsid()\n"
        "        if os.fork() == 0:\n"
        "            time.sleep(60)\n"
        "        os._exit(0)"
    )
    with grader_by("limits") as grader:
        assert grade(grader, body).verdict == "passed"
        assert family(grader) == set()


def bytes_left(grader: Grader) -> int:
    """Return the bytes in the room of the workers' folders."""
    return used_bytes(grader.workers._fork_server._room, 1 << 40)


MISCHIEF = (
    "pass",
    "raise ValueError('no')",
    "os._exit(0)",
    "os.makedirs('a/b/c'); open('a/b/c/d', 'wb').write(bytes(1 << 20))",
    "os.symlink('/', 'root'); os.link(__file__, 'again'); os.mkfifo('pipe')",
    "open('../left', 'w').close(); os.makedirs('../a/b')",
    "import ctypes; ctypes.string_at(0)",
)


@pytest.mark.thorough
@linux
@pytest.mark.parametrize("how", [None, LIMITS])
def test_twenty_runs_leave_nothing_behind(how: Isolation | None) -> None:
    """The fork server's mounts, descriptors, folders and children are the same as before."""

    def surroundings() -> dict[str, object]:
        found: dict[str, object] = {
            "family": family(grader),
            "folders": os.listdir(grader.workers._fork_server._room),
            "own": len(os.listdir("/proc/self/fd")),
        }
        pid = grader.workers._fork_server._pid
        return found | {
            "mounts": Path(f"/proc/{pid}/mounts").read_text(),
            "descriptors": len(os.listdir(f"/proc/{pid}/fd")),
        }

    with grader_by(how) as grader:
        room, pid = grader.workers._fork_server._room, grader.workers._fork_server._pid
        grade(grader, "pass")
        before = surroundings()
        assert before["family"] == set()
        for run in range(20):
            grade(grader, MISCHIEF[run % len(MISCHIEF)])
        assert surroundings() == before
    assert not os.path.exists(room)
    assert not os.path.exists(f"/proc/{pid}")


@pytest.mark.parametrize(
    "how",
    [None, LIMITS, pytest.param("bubblewrap", marks=[needs_bubblewrap, pytest.mark.thorough])],
)
def test_a_worker_does_not_get_the_users_environment(
    how: Isolation | None, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """A worker has only the few variables that it needs."""
    monkeypatch.setenv("ATTN_DRILL_SECRET", "token")
    with (
        contextlib.nullcontext(request.getfixturevalue("wrapped"))
        if how == "bubblewrap"
        else grader_by(how) as grader
    ):
        report = grade(grader, "print(*sorted(os.environ), os.environ['HOME'] == os.getcwd())")
    assert report.stdout.split() == [
        "HOME",
        "KINETO_LOG_LEVEL",
        "LANG",
        "OMP_NUM_THREADS",
        "PATH",
        "TMPDIR",
        "TORCHDYNAMO_DISABLE",
        "True",
    ]


@pytest.mark.thorough
def test_a_preloaded_request_gives_the_same_reports() -> None:
    """Preloading changes no report, not even one with random numbers, under two seeds."""
    with grader_by() as grader:
        for seed in (11, 12):
            not_preloaded = {
                name: without_time(report_of(grader, SUMS, source, "prefix_sum.py", seed))
                for name, source in SUBMITTED.items()
            }
            grader.workers.preload(grader.case_set(SUMS, seed))
            preloaded = {
                name: without_time(report_of(grader, SUMS, source, "prefix_sum.py", seed))
                for name, source in SUBMITTED.items()
            }
            assert preloaded == not_preloaded
            assert {name: report.verdict for name, report in preloaded.items()} == {
                **dict.fromkeys(SUBMITTED, "error"),
                **{
                    "right": "passed",
                    "random": "passed",
                    "prints": "passed",
                    "wrong": "failed",
                    "no gradients": "failed",
                    "nothing": "failed",
                    "loops": "failed",
                },
            }


SPOILS = """import gc
    found = [thing for thing in gc.get_objects() if isinstance(thing, torch.Tensor)]
    frame = sys._getframe()
    while frame:
        for value in list(frame.f_locals.values()):
            parts = value if isinstance(value, (list, tuple)) else ()
            for thing in (value, *parts, *getattr(value, 'tensors', ())):
                if isinstance(thing, torch.Tensor):
                    found.append(thing)
        frame = frame.f_back
    assert len(found) > 20, len(found)
    for tensor in found:
        with torch.no_grad():
            if tensor.dtype.is_floating_point:
                tensor.data.fill_(7)
    torch.set_default_dtype(torch.float64)
    sys.modules['attn_drill.worker.case_runner'].CaseRunner.run_all = None
    gc.collect()"""


@pytest.mark.parametrize("how", [None, LIMITS])
def test_a_submission_cannot_change_the_preloaded_request(how: Isolation | None) -> None:
    """A submission that overwrites all tensors in its memory does not change the next report."""
    with grader_by(how) as grader:
        grader.workers.preload(grader.case_set(SUMS, 11))
        before = without_time(report_of(grader, SUMS, RIGHT, "a.py", 11))
        spoilt = report_of(grader, SUMS, SOURCE.format(SPOILS), "a.py", 11)
        # The submission also changes attn-drill's own code in the worker.
        assert spoilt.verdict in ("failed", "not-allowed"), message_of(spoilt)
        assert without_time(report_of(grader, SUMS, RIGHT, "a.py", 11)) == before
        assert before.verdict == "passed"


@pytest.fixture(scope="module")
def wrapped() -> Iterator[Grader]:
    """Yield a grader whose fork server runs inside bubblewrap."""
    with grader_by("bubblewrap") as made:
        yield made


@pytest.mark.thorough
def test_a_worker_that_sleeps_too_long_is_ended(hasty: Grader) -> None:
    """A worker that sleeps is ended after several times its limit, even if it prints."""
    body = "import time\n    while True:\n        print('on', flush=True)\n        time.sleep(0.02)"
    report = grade_prefix_sum(hasty, RIGHT_SUM.format(body))
    assert report.verdict == "timeout"
    failure = report.first_failure()
    assert failure.number == 1
    assert "slept" in failure.message


@pytest.mark.thorough
def test_only_the_cpu_time_of_the_worker_counts(hasty: Grader) -> None:
    """A worker that is stopped for more than twice its limit, and then continues, is not ended."""
    submit = WorkerRun.submit

    def stalled(running: WorkerRun, file: SubmittedFile) -> None:
        submit(running, file)
        for _ in range(8):  # 2.4 seconds in all
            os.kill(running._worker.pid, signal.SIGSTOP)
            time.sleep(0.3)
            os.kill(running._worker.pid, signal.SIGCONT)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WorkerRun, "submit", stalled)
        assert grade_prefix_sum(hasty, RIGHT_SUM.format("pass")).verdict == "passed"


@pytest.mark.thorough
def test_threads_that_start_together_find_a_thread_pool(grader: Grader) -> None:
    """The fork loses torch's thread pool, so a new pool is made before the submission runs."""
    source = RIGHT_SUM.replace(
        "import torch", "import threading, torch\nfrom concurrent.futures import ThreadPoolExecutor"
    ).format(
        "start = threading.Barrier(8)\n"
        "    with ThreadPoolExecutor(8) as pool:\n"
        "        list(pool.map(lambda _: (start.wait(), torch.ones(9, 9).softmax(-1)), "
        "range(8)))"
    )
    reports = [grade_prefix_sum(grader, source, only=1) for _ in range(15)]
    assert [report.first_failure() for report in reports] == [None] * 15


def test_a_rehearsal_runs_all_calls_without_a_failure(monkeypatch: pytest.MonkeyPatch) -> None:
    """A rehearsal includes gradients and second calls, and keeps the state of the random generator.

    Nobody would see a failure of the rehearsal, so this test looks for failures.
    """
    runners: list[CaseRunner] = []

    class RecordedRunner(CaseRunner):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            runners.append(self)

    monkeypatch.setattr(_forkserver, "CaseRunner", RecordedRunner)
    before = torch.get_rng_state()
    _forkserver.rehearse()
    assert torch.equal(torch.get_rng_state(), before)
    (runner,) = runners
    assert len(runner.runs) == 4
    for run in runner.runs:
        assert run.failure is None
        assert not run.unassigned
        assert len(run.calls) >= 2
        assert all(call.outputs and call.failure is None for call in run.calls)
        assert set(run.first.gradients) >= {"x", "q_proj.weight", "o_proj.bias"}


def test_kernels_are_chosen_by_the_size_of_bfloat16_cases() -> None:
    """oneDNN is off only for small bfloat16 cases: it would compile a kernel for each size."""
    gqa, enabled = (
        pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa"),
        torch._C._get_mkldnn_enabled,
    )
    request, tensors = decode(load_case_set(gqa, 3).request(), Request)
    try:
        _forkserver.choose_kernels(request, tensors)
        assert not enabled()
        large = [
            tensor.expand(1 << 14, *tensor.shape) if tensor.dtype is torch.bfloat16 else tensor
            for tensor in tensors
        ]
        _forkserver.choose_kernels(request, large)
        assert enabled()
        torch._C._set_mkldnn_enabled(False)
        others = [run for run in request.runs if run.dtype != "bfloat16"]
        _forkserver.choose_kernels(msgspec.structs.replace(request, runs=others), tensors)
        assert enabled()
    finally:
        torch._C._set_mkldnn_enabled(True)
