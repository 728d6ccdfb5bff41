"""What acts on a whole fork server: folders of bounded size, looking after workers, one request for many, bubblewrap; and that nothing is left behind."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.grading import report_of
from tests.support.isolation import (
    RIGHT,
    SOURCE,
    SUBMITTED,
    SUMS,
    family,
    grade,
    grader_by,
    message_of,
    needs_bubblewrap,
    without_time,
)
from tests.support.running import RIGHT_SUM, grade_prefix_sum
from tests.support.sandbox import linux
from tests.support.waiting import wait_until
from trainer.grading.grader import Grader
from trainer.sandbox import isolation
from trainer.sandbox.isolation import (
    FOLDER_BYTES,
    Isolation,
    used_bytes,
)
from trainer.worker import forkserver
from trainer.worker.protocol import SubmittedFile
from trainer.worker.worker_client import WorkerRun

# The kernel's means meet the same faults first.
LIMITS = pytest.param("limits", marks=pytest.mark.thorough)


@pytest.fixture
def without_mounts(monkeypatch: pytest.MonkeyPatch) -> None:
    """As if this user might mount nothing; fork servers that start from here on have folders on the disk."""
    monkeypatch.setattr(isolation, "_mount_apart", lambda parent: False)


FILL = """n = 0
    for n in range(2000):
        open(f'{n}', 'wb').write(bytes(1 << 20))
        print(n, flush=True)
        time.sleep(0.001)"""


@pytest.mark.parametrize("how", [None, LIMITS])
def test_a_full_folder_on_the_disk_ends_its_worker(
    how: Isolation | None, without_mounts: None
) -> None:
    """Without mounts the fork server looks after it: the worker is ended and told why, before it has written much more than its share."""
    with grader_by(how) as grader:
        report = grade(grader, FILL)
        assert report.verdict == "error"
        assert "it wrote more than the 64 MiB that a submission may write" in message_of(report)
        written = 1 + int(report.stdout.split()[-1])
        assert FOLDER_BYTES <= (1 + written) << 20 <= 8 * FOLDER_BYTES
        assert bytes_left(grader) == 0
        assert grade(grader, "pass").verdict == "passed"


def test_open_files_without_a_name_count(without_mounts: None) -> None:
    """What was written and unlinked lies on the disk as long as it is open."""
    body = "kept = []\n    for n in range(10):\n        kept.append(open(f'{n}', 'wb'))\n        os.unlink(f'{n}')\n        kept[-1].write(bytes(8 << 20))\n    time.sleep(60)"
    with grader_by() as grader:
        assert "it wrote more than the 64 MiB" in message_of(grade(grader, body, seconds=20))


def test_many_files_on_the_disk_end_their_worker(without_mounts: None) -> None:
    """Empty files count for a block each."""
    with grader_by() as grader:
        report = grade(
            grader,
            "for n in range(30_000):\n        open(f'{n}', 'w').close()\n    time.sleep(60)",
            seconds=30,
        )
        assert "it wrote more than" in message_of(report)
        assert bytes_left(grader) == 0


def test_a_modest_writer_is_left_alone(without_mounts: None) -> None:
    """Half of what is allowed, removed again and written again, ends nobody."""
    body = "for n in range(6 if reverse and not x.requires_grad else 0):\n        open('f', 'wb').write(bytes(15 << 20))\n        time.sleep(0.05)"
    with grader_by() as grader:
        assert grade(grader, body).verdict == "passed"


@linux
@pytest.mark.parametrize("how", [None, LIMITS])
def test_too_many_threads(how: Isolation | None) -> None:
    """Threads are needed, a few; hundreds end the worker, which is told why."""
    body = "import threading\n    threading.stack_size(64 << 10)\n    for _ in range({}):\n        threading.Thread(target=time.sleep, args=({},), daemon=True).start()\n    time.sleep({})"
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
    "as orphans": "for _ in range(40):\n        if os.fork() == 0:\n            if os.fork() == 0:\n                time.sleep(60)\n            os._exit(0)\n    time.sleep(60)",
    "from the first thread": "for _ in range(40):\n        if os.fork() == 0:\n            os.setsid()\n            time.sleep(60)\n    time.sleep(60)",
    "from another thread": "import threading\n    def go():\n        for _ in range(40):\n            if os.fork() == 0:\n                time.sleep(60)\n        time.sleep(60)\n    threading.Thread(target=go).start()\n    time.sleep(60)",
    "by a child that is gone": "if os.fork() == 0:\n        for _ in range(40):\n            if os.fork() == 0:\n                time.sleep(60)\n        os._exit(0)\n    time.sleep(60)",
}


@pytest.mark.sampled(2)
@linux
@pytest.mark.parametrize("body", STARTS.values(), ids=STARTS)
def test_too_many_processes(body: str) -> None:
    """Where they can be started at all, dozens end the worker and all of its family, and it is told why."""
    with grader_by("limits") as grader:
        report = grade(grader, body, seconds=20)
        assert report.verdict == "error"
        assert "processes; a submission may start none" in message_of(report)
        assert family(grader) == set()
        assert bytes_left(grader) == 0
        assert grade(grader, "pass").verdict == "passed"


@linux
def test_a_few_processes_end_with_their_worker() -> None:
    """A right answer may leave some behind: they do not outlive it, whatever session they are in."""
    body = "if reverse and not x.requires_grad and os.fork() == 0:\n        os.setsid()\n        if os.fork() == 0:\n            time.sleep(60)\n        os._exit(0)"
    with grader_by("limits") as grader:
        assert grade(grader, body).verdict == "passed"
        assert family(grader) == set()


def bytes_left(grader: Grader) -> int:
    """What lies in the room of the workers' folders."""
    grader.workers._fork_server.settle()
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


@linux
@pytest.mark.parametrize("how", [None, LIMITS])
def test_nothing_is_left_behind(how: Isolation | None) -> None:
    """Twenty runs later the fork server has as many mounts, descriptors, folders and children as before."""

    def there() -> dict[str, object]:
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
        before = there()
        assert before["family"] == set()
        for number in range(20):
            grade(grader, MISCHIEF[number % len(MISCHIEF)])
        assert there() == before
    assert not os.path.exists(room)
    assert not os.path.exists(f"/proc/{pid}")


@pytest.mark.parametrize(
    "how",
    [None, LIMITS, pytest.param("bubblewrap", marks=[needs_bubblewrap, pytest.mark.thorough])],
)
def test_the_environment_is_not_the_users(
    how: Isolation | None, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    """A worker's variables are the few that it needs, whatever the grader was started with."""
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


def test_a_held_request_gives_the_same_reports() -> None:
    """Whether a request is read once for all files or once for each, every report is the same, also of chance; and so it is under another seed."""
    with grader_by() as grader:
        for seed in (11, 12):
            plain = {
                name: without_time(report_of(grader, SUMS, source, "prefix_sum.py", seed))
                for name, source in SUBMITTED.items()
            }
            grader.workers.preload(grader.case_set(SUMS, seed))
            held = {
                name: without_time(report_of(grader, SUMS, source, "prefix_sum.py", seed))
                for name, source in SUBMITTED.items()
            }
            assert held == plain
            assert {name: report.verdict for name, report in held.items()} == {
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
    found = [one for one in gc.get_objects() if isinstance(one, torch.Tensor)]
    frame = sys._getframe()
    while frame:
        for value in list(frame.f_locals.values()):
            for one in (value, *(value if isinstance(value, (list, tuple)) else ()), *getattr(value, 'tensors', ())):
                if isinstance(one, torch.Tensor):
                    found.append(one)
        frame = frame.f_back
    assert len(found) > 20, len(found)
    for one in found:
        with torch.no_grad():
            if one.dtype.is_floating_point:
                one.data.fill_(7)
    torch.set_default_dtype(torch.float64)
    sys.modules['trainer.worker.case_runner'].CaseRunner.run_all = None
    gc.collect()"""


@pytest.mark.parametrize("how", [None, LIMITS])
def test_what_is_held_cannot_be_changed(how: Isolation | None) -> None:
    """A file that writes into every tensor that it finds, those of the request among them, changes nothing for the next one."""
    with grader_by(how) as grader:
        grader.workers.preload(grader.case_set(SUMS, 11))
        before = without_time(report_of(grader, SUMS, RIGHT, "a.py", 11))
        spoilt = report_of(grader, SUMS, SOURCE.format(SPOILS), "a.py", 11)
        assert spoilt.verdict in ("failed", "not-allowed"), message_of(
            spoilt
        )  # our own code is changed too
        assert without_time(report_of(grader, SUMS, RIGHT, "a.py", 11)) == before
        assert before.verdict == "passed"


@pytest.fixture(scope="module")
def wrapped() -> Iterator[Grader]:
    """A grader whose fork server lives in bubblewrap."""
    with grader_by("bubblewrap") as made:
        yield made


def test_a_worker_that_other_load_keeps_from_running_may_do_its_last_thing() -> None:
    """A worker that prints its line or ends has some CPU time for it, or falls asleep."""
    busy = subprocess.Popen(
        [sys.executable, "-c", "print(flush=True)\nwhile True: pass"], stdout=-1
    )
    asleep = subprocess.Popen(["sleep", "60"])
    try:
        busy.stdout.readline()  # type: ignore[union-attr]
        used = forkserver._cpu_seconds(busy.pid) or 0.0
        assert not forkserver._has_had_time(
            busy.pid, 1.0, used + 60.0
        )  # so it has used nothing since
        assert forkserver._has_had_time(busy.pid, 60.0, used + 60.0)
        assert forkserver._has_had_time(busy.pid, 1.0, used - 60.0)
        assert not forkserver._has_had_time(busy.pid, 0.1, used - 60.0)
        wait_until(lambda: forkserver._is_asleep(asleep.pid))  # it has only just begun
        assert forkserver._has_had_time(asleep.pid, 1.0, 0.0)
    finally:
        for process in (busy, asleep):
            process.kill()
            process.communicate()


def test_a_file_that_sleeps_and_talks_is_ended(hasty: Grader) -> None:
    """A worker that uses hardly any CPU time has several times its limit, whatever it prints, and no more."""
    body = "import time\n    while True:\n        print('on', flush=True)\n        time.sleep(0.02)"
    report = grade_prefix_sum(hasty, RIGHT_SUM.format(body))
    assert report.verdict == "timeout"
    failure = report.first_failure()
    assert failure is not None
    assert failure.number == 1
    assert "slept" in failure.message


def test_only_the_time_of_the_worker_itself_counts(hasty: Grader) -> None:
    """A worker that stands still for more than twice its limit, and then goes on, is not ended."""
    submit = WorkerRun.submit

    def stalled(running: WorkerRun, file: SubmittedFile) -> None:
        submit(running, file)
        for _ in range(8):  # 2.4 seconds in all
            os.kill(running._pid, signal.SIGSTOP)
            time.sleep(0.3)
            os.kill(running._pid, signal.SIGCONT)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WorkerRun, "submit", stalled)
        assert grade_prefix_sum(hasty, RIGHT_SUM.format("pass")).verdict == "passed"


def test_a_fork_server_serves_many(grader: Grader) -> None:
    """A death in one run does nothing to the next."""
    assert grade_prefix_sum(grader, RIGHT_SUM.format("import os; os._exit(0)")).verdict == "error"
    assert grade_prefix_sum(grader, RIGHT_SUM.format("pass")).verdict == "passed"


def test_threads_that_begin_together(grader: Grader) -> None:
    """torch's thread pool, lost in the fork, is made anew before any thread of a submission's could race for it."""
    source = RIGHT_SUM.replace(
        "import torch", "import threading, torch\nfrom concurrent.futures import ThreadPoolExecutor"
    ).format(
        "start = threading.Barrier(8)\n    with ThreadPoolExecutor(8) as pool:\n        list(pool.map(lambda _: (start.wait(), torch.ones(9, 9).softmax(-1)), range(8)))"
    )
    reports = [grade_prefix_sum(grader, source, only=1) for _ in range(15)]
    assert [report.first_failure() for report in reports] == [None] * 15
