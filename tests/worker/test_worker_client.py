"""The grader's side of a worker: replies, deaths, endless runs, floods of output, garbage."""

import os
import re
import signal
import sys
import threading

import pytest

from attn_drill.grading.grader import Grader
from attn_drill.worker.protocol import SubmittedFile
from attn_drill.worker.worker_client import WorkerRun
from tests.support.grading import RIGHT_SUM, grade_prefix_sum
from tests.support.rows import each_row


@pytest.mark.sampled(3)
@each_row(
    "body, verdict, says",
    {
        "endless loop": (
            "while True: pass",
            "timeout",
            "still running at the time limit at line 3",
        ),
        "sleep": ("import time; time.sleep(60)", "timeout", "time limit at line 3"),
        "exit 0": ("import os; os._exit(0)", "error", "ended itself"),
        "exit 3": ("import os; os._exit(3)", "error", "exit code 3"),
        "exit shortly before the limit, which the preparation of the worker does not use up": (
            "import os, time\n"
            "    end = time.process_time() + 0.9\n"
            "    while time.process_time() < end: pass\n"
            "    os._exit(3)",
            "error",
            "exit code 3",
        ),
        "SystemExit": ("raise SystemExit(5)", "error", r"sys\.exit\(5\)"),
        "KeyboardInterrupt": ("raise KeyboardInterrupt", "error", "KeyboardInterrupt"),
        "segfault": ("import ctypes; ctypes.string_at(0)", "error", "segmentation fault at line 3"),
        "abort": ("import os; os.abort()", "error", "signal"),
        "40 GB": ("torch.ones(10**10)", "memory", "requested more memory"),
        "10 GB of bytes": ("bytearray(10**10)", "memory", "MemoryError"),
        "all descriptors closed": (
            "import os; os.closerange(0, 1000)",
            "error",
            "broken from inside",
        ),
        "stdout closed": ("import sys; sys.stdout.close()", "passed", ""),
        "stdout gone": ("import sys; sys.stdout = None; print(1)", "passed", ""),
        "recursion": ("prefix_sum(x)", "error", "RecursionError"),
    },
)
def test_every_kind_of_end_has_its_verdict_and_case(
    hasty: Grader, body: str, verdict: str, says: str
) -> None:
    """The report names the case that was running when the worker ended."""
    report = grade_prefix_sum(hasty, RIGHT_SUM.format(body))
    assert report.verdict == verdict
    if says:
        failure = report.first_failure()
        assert re.search(says, failure.message), failure.message
        assert failure.case == "forwards"
        assert failure.number == 1


@pytest.mark.thorough
def test_the_running_line_is_reported_even_if_the_worker_starts_late(
    hasty: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The grader waits until a worker whose time is over has printed its line."""
    submit = WorkerRun.submit

    def submit_late(running: WorkerRun, file: SubmittedFile) -> None:
        os.kill(running._worker.pid, signal.SIGSTOP)
        submit(running, file)
        threading.Timer(0.5, os.kill, (running._worker.pid, signal.SIGCONT)).start()

    monkeypatch.setattr(WorkerRun, "submit", submit_late)
    failure = grade_prefix_sum(hasty, "x = 1\nwhile True:\n    x += 1\n").first_failure()
    assert failure.frames[-1].line in (2, 3)


@each_row(
    "payload",
    {
        "a reply of 2**64 bytes": b"R" + b"\\xff" * 8,
        "another kind": b"Z" * 100,
        "a note that is not a number": b"N" + (5).to_bytes(8, "little") + b"hello",
        "an empty reply": b"R" + (2).to_bytes(8, "little") + b"{}",
    },
)
def test_garbage_on_the_channel_is_not_a_result(grader: Grader, payload: bytes) -> None:
    """A submission that writes to the channel gets the verdict "error"."""
    body = (
        "import os\n"
        "    for fd in range(3, 20):\n"
        "        try:\n"
        f"            os.write(fd, {payload!r})\n"
        "        except OSError:\n"
        "            pass"
    )
    report = grade_prefix_sum(grader, RIGHT_SUM.format(body))
    assert report.verdict == "error"
    failure = report.first_failure()
    assert "did not send a valid result" in failure.message


def test_a_flood_of_output_is_cut(grader: Grader) -> None:
    """Megabytes of output do not change the verdict. The report says that output is missing."""
    report = grade_prefix_sum(grader, RIGHT_SUM.format("print('x' * 1_000_000)"))
    assert report.verdict == "passed"
    assert len(report.stdout) < 100_000
    assert "more bytes were printed" in report.stdout


def test_only_the_output_of_the_shown_case_is_reported(grader: Grader) -> None:
    """Printed output belongs to a case and to the first call of this case."""
    report = grade_prefix_sum(
        grader, "print('import')\n" + RIGHT_SUM.format("print('x', tuple(x.shape))")
    )
    assert report.stdout == "import\nx (3, 5)\n"


def test_the_grader_opens_no_file_while_it_waits(grader: Grader) -> None:
    """A submission could delay a process that opens a file, so the grader opens none."""
    grade_prefix_sum(grader, RIGHT_SUM.format("pass"))  # make all lazy imports now
    opened: list[str] = []
    waiting: list[bool] = []

    def note(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and waiting:
            opened.append(str(arguments[0]))

    sys.addaudithook(note)
    wait = WorkerRun._read

    def watched(running: WorkerRun, *given: object) -> object:
        waiting.append(True)
        try:
            return wait(running, *given)
        finally:
            waiting.clear()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WorkerRun, "_read", watched)
        for body in ("pass", "return x * 2"):
            grade_prefix_sum(grader, RIGHT_SUM.format(body))
    assert opened == []


def test_a_table_cached_by_length_is_not_a_loop(grader: Grader) -> None:
    """A counted call uses a new import, so that no table of another case is left."""
    cached = (
        "import functools, torch\n"
        "@functools.cache\n"
        "def ones(n):\n"
        "    at = torch.arange(n)\n"
        "    return {}\n"
    )
    use = (
        "def prefix_sum(x, reverse=False):\n"
        "    x = x * ones(x.shape[-1]).to(x.dtype)\n"
        "    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)\n"
    )
    assert (
        grade_prefix_sum(
            grader, cached.format("((at - at + 1) * (at + 1)).clamp(max=1).abs()") + use
        ).verdict
        == "passed"
    )
    looped = grade_prefix_sum(grader, cached.format("torch.stack([i * 0 + 1 for i in at])") + use)
    failed = [outcome.check for outcome in looped.outcomes if outcome.status == "failed"]
    assert failed == ["vectorised"]
