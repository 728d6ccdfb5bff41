"""The worker's life as the grader sees it: replies, deaths, hangs, floods, garbage."""

import os
import re
import signal
import subprocess
import sys
import threading
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec
import pytest
import torch
from torch import nn

from tests.support.grading import report_of
from tests.support.paths import TINY_PACK
from tests.support.waiting import wait_until
from trainer.grading.case_set import CaseSet, load_case_set
from trainer.grading.comparison import Comparison
from trainer.grading.grader import Grader
from trainer.grading.ready_workers import Workers
from trainer.model.report import Report
from trainer.model.submission import Submission
from trainer.packs import pack_reader
from trainer.worker import forkserver, warmup
from trainer.worker.case_runner import CaseRunner, Hooks, KeptTensors
from trainer.worker.execution import quick_first_weights
from trainer.worker.forkserver_client import Limits
from trainer.worker.guarded_call import GuardedCall
from trainer.worker.protocol import Request, SubmittedFile, Tried, decode
from trainer.worker.worker_client import WorkerResult, WorkerRun

RIGHT = "import torch\ndef prefix_sum(x, reverse=False):\n    {}\n    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)\n"


PREFIX_SUM = pack_reader.find_challenge(TINY_PACK, "prefix-sum")


def grade(grader: Grader, source: str, **more: int) -> Report:
    """Grade a prefix sum."""
    return report_of(
        grader,
        pack_reader.find_challenge(TINY_PACK, "prefix-sum"),
        source,
        "prefix_sum.py",
        7,
        **more,
    )


@pytest.fixture
def hasty(grader: Grader, monkeypatch: pytest.MonkeyPatch) -> Grader:
    """A grader whose patience ends after a second."""
    monkeypatch.setattr(grader.workers, "limits", Limits(seconds=1.0, memory_bytes=512 << 20))
    return grader


def test_right_passes(grader: Grader) -> None:
    """The plain right answer passes, with the memory check made."""
    report = grade(grader, RIGHT.format("pass"))
    assert report.verdict == "passed"
    assert report.statuses()["memory"] == "passed"


@pytest.mark.parametrize(
    ("body", "verdict", "says"),
    [
        pytest.param(
            "while True: pass",
            "timeout",
            "still running at the time limit at line 3",
            id="endless loop",
        ),
        pytest.param("import time; time.sleep(60)", "timeout", "time limit at line 3", id="sleep"),
        pytest.param("import os; os._exit(0)", "error", "ended itself", id="exit 0"),
        pytest.param("import os; os._exit(3)", "error", "exit code 3", id="exit 3"),
        pytest.param("raise SystemExit(5)", "error", r"sys\.exit\(5\)", id="SystemExit"),
        pytest.param(
            "raise KeyboardInterrupt", "error", "KeyboardInterrupt", id="KeyboardInterrupt"
        ),
        pytest.param(
            "import ctypes; ctypes.string_at(0)",
            "error",
            "segmentation fault at line 3",
            id="segfault",
        ),
        pytest.param("import os; os.abort()", "error", "signal", id="abort"),
        pytest.param("torch.ones(10**10)", "memory", "more memory was asked for", id="40 GB"),
        pytest.param("bytearray(10**10)", "memory", "MemoryError", id="10 GB of bytes"),
        pytest.param(
            "import os; os.closerange(0, 1000)",
            "error",
            "broken from inside",
            id="all descriptors closed",
        ),
        pytest.param("import sys; sys.stdout.close()", "passed", "", id="stdout closed"),
        pytest.param("import sys; sys.stdout = None; print(1)", "passed", "", id="stdout gone"),
        pytest.param("prefix_sum(x)", "error", "RecursionError", id="recursion"),
    ],
)
def test_ends(hasty: Grader, body: str, verdict: str, says: str) -> None:
    """Every way to end has its own verdict and names the case that was running."""
    report = grade(hasty, RIGHT.format(body))
    assert report.verdict == verdict
    if says:
        failure = report.first_failure()
        assert failure is not None
        assert re.search(says, failure.message), failure.message
        assert failure.case == "forwards"
        assert failure.number == 1


def test_hang_at_import(hasty: Grader) -> None:
    """A file that never ends to load is named as such, with the line."""
    failure = grade(hasty, "x = 1\nwhile True:\n    x += 1\n").first_failure()
    assert failure is not None
    assert failure.check == "loads"
    assert "while the file was imported" in failure.message
    assert failure.frames[-1].line in (2, 3)


def test_the_line_is_known_however_late_the_worker_was_ready(
    hasty: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker's own time counts from when it has the file; the grader waits until it has said where it is."""
    submit = WorkerRun.submit

    def late(running: WorkerRun, file: SubmittedFile) -> None:
        os.kill(running._pid, signal.SIGSTOP)
        submit(running, file)
        threading.Timer(0.5, os.kill, (running._pid, signal.SIGCONT)).start()

    monkeypatch.setattr(WorkerRun, "submit", late)
    failure = grade(hasty, "x = 1\nwhile True:\n    x += 1\n").first_failure()
    assert failure is not None
    assert failure.frames[-1].line in (2, 3)


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
    report = grade(hasty, RIGHT.format(body))
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
        assert grade(hasty, RIGHT.format("pass")).verdict == "passed"


@pytest.mark.parametrize(
    "payload",
    [
        pytest.param(b"R" + b"\\xff" * 8, id="a reply of 2**64 bytes"),
        pytest.param(b"Z" * 100, id="another kind"),
        pytest.param(b"N" + (5).to_bytes(8, "little") + b"hello", id="a note that is no number"),
        pytest.param(b"R" + (2).to_bytes(8, "little") + b"{}", id="an empty reply"),
    ],
)
def test_garbage_on_the_channel(grader: Grader, payload: bytes) -> None:
    """What a submission writes to the channel itself is no result."""
    body = f"import os\n    for fd in range(3, 20):\n        try:\n            os.write(fd, {payload!r})\n        except OSError:\n            pass"
    report = grade(grader, RIGHT.format(body))
    assert report.verdict == "error"
    failure = report.first_failure()
    assert failure is not None
    assert "no result" in failure.message


def test_a_forged_reply_without_values_is_no_pass(grader: Grader) -> None:
    """A well-formed reply that claims everything but holds no tensors does not pass."""
    forged = (
        "import os\n"
        "    from trainer.worker.protocol import Reply, RunReply, TensorTable, encode, message, REPLY\n"
        "    from trainer.worker.protocol import FoundParameter\n"
        "    frame = encode(Reply(defined=['prefix_sum'], signatures={'prefix_sum': None}, runs=[RunReply() for _ in range(7)]), TensorTable())\n"
        "    for fd in range(3, 20):\n"
        "        try:\n"
        "            os.write(fd, message(REPLY, frame))\n"
        "        except OSError:\n"
        "            pass"
    )
    report = grade(grader, RIGHT.format(forged))
    assert report.verdict != "passed"
    assert report.statuses()["shapes"] == "failed"


@pytest.mark.parametrize(
    "body",
    [
        "x.data = x.data[:, :1]",
        "x.data = x.data.t()",
        "x.resize_(1)",
        "x.requires_grad_()",
        "x.detach().zero_()",
    ],
)
def test_inputs_changed_in_shape_or_kind(grader: Grader, body: str) -> None:
    """A submission that turns its input into something else is refused for that, or passes where nothing is lost."""
    right = "return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)"
    source = f"import torch\ndef prefix_sum(x, reverse=False):\n    y = x.clone()\n    if not torch.is_grad_enabled():\n        {body}\n    x = y\n    {right}\n"
    report = grade(grader, source)
    if body == "x.requires_grad_()":
        assert report.verdict == "passed"
        return
    assert report.verdict == "failed"
    failure = report.first_failure()
    assert failure is not None
    assert "the input x is changed in place" in failure.message


@pytest.mark.parametrize("kept", ["x", "x.clone()"])
def test_what_is_kept_from_an_earlier_call_shows(grader: Grader, kept: str) -> None:
    """An input kept by reference or by value is wrong in the second call or in the third."""
    source = f"kept = {{}}\ndef prefix_sum(x, reverse=False):\n    x = x if x.requires_grad else kept.setdefault((x.shape, x.dtype, reverse), {kept})\n    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)\n"
    report = grade(grader, source)
    assert report.verdict == "failed"
    failure = report.first_failure()
    assert failure is not None
    assert re.search("on a (second|third) call", failure.message)


def test_flood_is_cut_and_does_no_harm(grader: Grader) -> None:
    """A hundred megabytes of output cost the report nothing; the text is cut and says so."""
    report = grade(grader, RIGHT.format("print('x' * 1_000_000)"))
    assert report.verdict == "passed"
    assert len(report.stdout) < 100_000
    assert "bytes more were printed" in report.stdout


def test_prints_of_the_shown_case_only(grader: Grader) -> None:
    """What is printed belongs to a case and to its first call."""
    report = grade(grader, "print('import')\n" + RIGHT.format("print('x', tuple(x.shape))"))
    assert report.stdout == "import\nx (3, 5)\n"


def test_nothing_is_left_behind(hasty: Grader, tmp_path: Path) -> None:
    """A worker that is killed takes its folder with it, and no process stays."""
    note = "open('/dev/null'); import os, sys; print(os.getpid(), os.getcwd(), flush=True)\n    while True: pass"
    report = grade(hasty, RIGHT.format(note))
    pid, folder = report.stdout.split()
    assert not os.path.exists(f"/proc/{pid}")
    assert not os.path.exists(folder)


def test_unknown_case_number(grader: Grader) -> None:
    """--case beyond the last says how many there are."""
    with pytest.raises(Exception, match="cases 1 to 7; --case 8"):
        grade(grader, RIGHT.format("pass"), only=8)


def test_a_fork_server_serves_many(grader: Grader) -> None:
    """A death in one run does nothing to the next."""
    assert grade(grader, RIGHT.format("import os; os._exit(0)")).verdict == "error"
    assert grade(grader, RIGHT.format("pass")).verdict == "passed"


def test_threads_that_begin_together(grader: Grader) -> None:
    """torch's thread pool, lost in the fork, is made anew before any thread of a submission's could race for it."""
    source = RIGHT.replace(
        "import torch", "import threading, torch\nfrom concurrent.futures import ThreadPoolExecutor"
    ).format(
        "start = threading.Barrier(8)\n    with ThreadPoolExecutor(8) as pool:\n        list(pool.map(lambda _: (start.wait(), torch.ones(9, 9).softmax(-1)), range(8)))"
    )
    reports = [grade(grader, source, only=1) for _ in range(15)]
    assert [report.first_failure() for report in reports] == [None] * 15


def test_a_table_kept_by_length_is_no_loop(grader: Grader) -> None:
    """Both sizes are counted with nothing kept from other cases, which may have been as long."""
    kept = "import functools, torch\n@functools.cache\ndef ones(n):\n    at = torch.arange(n)\n    return {}\n"
    use = "def prefix_sum(x, reverse=False):\n    x = x * ones(x.shape[-1]).to(x.dtype)\n    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)\n"
    assert (
        grade(grader, kept.format("((at - at + 1) * (at + 1)).clamp(max=1).abs()") + use).verdict
        == "passed"
    )
    looped = grade(grader, kept.format("torch.stack([one * 0 + 1 for one in at])") + use)
    assert [one.check for one in looped.outcomes if one.status == "failed"] == ["vectorised"]


def test_a_rehearsal_goes_all_the_way(monkeypatch: pytest.MonkeyPatch) -> None:
    """What a worker rehearses before it has a file fails nowhere (nobody would see it), takes gradients and second calls, and leaves chance as it was."""
    made: list[CaseRunner] = []

    class Seen(CaseRunner):
        def __init__(self, *given: Any) -> None:
            super().__init__(*given)
            made.append(self)

    monkeypatch.setattr(warmup, "CaseRunner", Seen)
    before = torch.get_rng_state()
    warmup.rehearse()
    assert torch.equal(torch.get_rng_state(), before)
    (runner,) = made
    assert len(runner.runs) == 4
    for told in runner.runs:
        assert (told.failure, told.gradient_failure, told.again_failure, told.unassigned) == (
            None,
            None,
            None,
            False,
        )
        assert set(told.gradients) >= {"x", "q_proj.weight", "o_proj.bias"}
        assert told.outputs_again


class _Counted:
    """A prefix sum, of no parameters, that knows of each call whether it recorded gradients; `unlike`: with them it gives something else, or fails."""

    def __init__(self, unlike: str = "") -> None:
        self.calls: list[bool] = []
        self._unlike = unlike

    def __call__(self, x: torch.Tensor, reverse: bool = False) -> torch.Tensor:
        self.calls.append(torch.is_grad_enabled())
        if torch.is_grad_enabled() and self._unlike == "fails":
            raise RuntimeError("a leaf variable")
        summed = x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)
        return summed + 1 if torch.is_grad_enabled() and self._unlike == "differs" else summed


@pytest.mark.parametrize(
    ("unlike", "every_time"),
    [
        pytest.param("", False, id="gradients make no difference"),
        pytest.param("differs", True, id="other values with gradients"),
        pytest.param("fails", True, id="fails with gradients"),
    ],
)
def test_one_call_serves_for_values_and_gradients_where_that_is_safe(
    unlike: str, *, every_time: bool
) -> None:
    """Of the runs that are called as one before them, each costs two calls; four where gradients have made a difference in any."""
    case_set = load_case_set(pack_reader.find_challenge(TINY_PACK, "prefix-sum"), 3)
    request, tensors = case_set.decoded_request("grade")
    counted = _Counted(unlike)
    calls: list[list[bool]] = []

    class Noted(Hooks):
        def done(self, count: int) -> None:
            counted.calls = []
            calls.append(counted.calls)

    runner = CaseRunner(request, tensors, GuardedCall(""), KeptTensors(), Noted())
    runner.run_all({"prefix_sum": counted}, case_set.content.drive)
    with_gradients = [number for number, run in enumerate(request.runs) if run.cotangents]
    again = [number for number in with_gradients if not request.runs[number].once_more]
    assert again
    assert len(again) < len(with_gradients)
    for number in with_gradients:
        told, twice = runner.runs[number], number in again and not every_time
        assert calls[number] == ([True, False] if twice else [False, False, True, False])
        assert (told.failure, told.again_failure, bool(told.outputs_again)) == (None, None, True)
        assert bool(told.outputs_once_more) == (not twice)
        assert (told.gradient_failure is not None) == (unlike == "fails")


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("width", [1, 7, 42, 300])
def test_first_weights_are_those_of_torch(width: int, *, bias: bool) -> None:
    """Drawn quickly, a linear layer has the weights that torch would give it; outside it is torch that draws."""
    usual = nn.Linear.reset_parameters
    torch.manual_seed(5)
    wanted = [*nn.Linear(width, 3, bias=bias).parameters(), torch.rand(2)]
    torch.manual_seed(5)
    with quick_first_weights():
        quick = [*nn.Linear(width, 3, bias=bias).parameters()]
    torch.testing.assert_close([*quick, torch.rand(2)], wanted, rtol=1e-6, atol=0.0)
    assert nn.Linear.reset_parameters is usual


def test_kernels_suit_the_sizes() -> None:
    """Small bfloat16 products go without oneDNN, which would compile a kernel for each; large ones go with it, and so does what has none."""
    gqa, enabled = (
        pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa"),
        torch._C._get_mkldnn_enabled,
    )
    request, tensors = decode(load_case_set(gqa, 3).request(), Request)
    try:
        warmup.choose_kernels(request, tensors)
        assert not enabled()
        large = [
            tensor.expand(1 << 14, *tensor.shape) if tensor.dtype is torch.bfloat16 else tensor
            for tensor in tensors
        ]
        warmup.choose_kernels(request, large)
        assert enabled()
        torch._C._set_mkldnn_enabled(False)
        others = [run for run in request.runs if run.dtype != "bfloat16"]
        warmup.choose_kernels(msgspec.structs.replace(request, runs=others), tensors)
        assert enabled()
    finally:
        torch._C._set_mkldnn_enabled(True)


def test_of_several_assignments_the_likely_one_is_run(
    grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Layers whose names say nothing: one case tells which is which before all are run, and so two workers are enough; the report says how many there were."""
    gqa = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
    whole = grader.case_set(gqa, 7)
    seen: list[int] = []
    begin = Workers.begin

    def noted(workers: Workers, case_set: CaseSet, *more: Any) -> WorkerRun:
        seen.append(len(case_set.cases))
        return begin(workers, case_set, *more)

    def finished(running: WorkerRun, *more: Any) -> WorkerResult:
        ended = finish(running, *more)
        ends.append(ended.how)
        return ended

    ends: list[str] = []
    finish = WorkerRun.finish
    monkeypatch.setattr(Workers, "begin", noted)
    monkeypatch.setattr(WorkerRun, "finish", finished)
    report = report_of(
        grader, gqa, (gqa.solutions / "also_right" / "unnamed_layers.py").read_text(), "gqa.py", 7
    )
    assert report.verdict == "passed"
    assert seen == [len(whole.cases)] * 2
    assert ends == ["stopped", "replied"]
    (parameters,) = (one for one in report.outcomes if one.check == "parameters")
    assert "Names left 4 assignments" in parameters.message


def test_a_wrong_answer_of_unnamed_layers_is_recorded_as_it_was_graded(grader: Grader) -> None:
    """In a single case more may fit than in all: the assignment of the verdict is the one that lines are looked at with."""
    gqa = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
    source = (gqa.solutions / "also_right" / "unnamed_layers.py").read_text()
    submission, case_set = Submission("gqa.py", source), grader.case_set(gqa, 7)
    judgement = grader.judge(case_set, submission)
    assert judgement.report.verdict == "passed"
    assert judgement.assignment == {
        "layers.0": ["o"],
        "layers.1": ["v"],
        "layers.2": ["k"],
        "layers.3": ["q"],
    }
    square = next(
        number
        for number, case in enumerate(case_set.cases)
        if case.sizes.get("H") == case.sizes.get("Hkv")
    )
    alone = case_set.only([square], alone=True)
    ended = grader.workers.run(alone, submission, judgement.assignment)
    assert ended.reply.assignment == judgement.assignment


def test_a_worker_cannot_name_what_is_not_asked(grader: Grader) -> None:
    """What a worker says it has tried is looked at like all else: more outputs than assignments, or a case that there is not, mean nothing."""
    case_set = grader.case_set(pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa"), 7)
    reference = Submission("gqa.py", pack_reader.solution(case_set.challenge))
    right = Comparison(case_set, grader.workers.run(case_set, reference))
    outputs, wrong = right.reply.runs[0].outputs, right.reply.runs[1].outputs
    for tried, likely in (
        (None, []),
        (Tried(0, [{}, {}], [wrong, outputs]), [1]),
        (Tried(0, [{}, {}], [outputs, wrong]), [0]),
        (Tried(0, [{}, {}], [outputs, outputs]), [0, 1]),
        (Tried(0, [{}, {}], [wrong, {}]), []),
        (Tried(0, [{}], [wrong, outputs]), []),
        (Tried(len(case_set.cases), [{}, {}], [wrong, outputs]), []),
        (Tried(-1, [{}, {}], [wrong, outputs]), []),
    ):
        comparison = Comparison(case_set, replace(right.ended, tried=tried))
        assert comparison.agreeing_assignments() == likely


def test_what_one_case_leaves_open_is_run(grader: Grader, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where one case comes out right under several assignments, those are run until one passes, and no others."""
    gqa = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
    likely = Comparison.agreeing_assignments
    runs: list[object] = []
    begin = Workers.begin

    def noted(
        workers: Workers, case_set: CaseSet, submission: Submission, assignment: Any, *more: Any
    ) -> WorkerRun:
        runs.append(assignment)
        return begin(workers, case_set, submission, assignment, *more)

    monkeypatch.setattr(Workers, "begin", noted)
    source = (gqa.solutions / "also_right" / "unnamed_layers.py").read_text()
    assert report_of(grader, gqa, source, "gqa.py", 7).verdict == "passed"
    (meant,) = [one for one in runs if one]
    runs.clear()
    monkeypatch.setattr(
        Comparison,
        "agreeing_assignments",
        lambda comparison: sorted({1, *found}) if (found := likely(comparison)) else [],
    )
    assert report_of(grader, gqa, source, "gqa.py", 7).verdict == "passed"
    assert runs[-1] == meant
    assert len(runs) <= 3


def test_a_fork_server_that_died_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """The submission is graded again in a new fork server, and so are those that come after it."""
    with Grader([pack_reader.built_in_pack(), TINY_PACK], Limits(seconds=60.0)) as grader:
        grader.workers.preload(grader.case_set(PREFIX_SUM, 7))
        first = grader.workers._fork_server
        submit, killed = WorkerRun.submit, list[int]()

        def killing(running: WorkerRun, file: SubmittedFile) -> None:
            if not killed:
                killed.append(first._pid)
                os.kill(first._pid, signal.SIGKILL)
                os.waitid(os.P_PID, first._pid, os.WEXITED | os.WNOWAIT)
            submit(running, file)

        monkeypatch.setattr(WorkerRun, "submit", killing)
        assert grade(grader, RIGHT.format("pass")).verdict == "passed"
        assert killed
        assert grader.workers._fork_server is not first
        assert grade(grader, RIGHT.format("pass")).verdict == "passed"


def test_a_file_with_which_every_fork_server_dies_has_a_verdict(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """It is the likely cause, so it is that file's error and no fault of the grader; the next file is graded."""
    with Grader([pack_reader.built_in_pack(), TINY_PACK], Limits(seconds=60.0)) as grader:
        submit = WorkerRun.submit

        def killing(running: WorkerRun, file: SubmittedFile) -> None:
            os.kill(running._fork_server._pid, signal.SIGKILL)
            os.waitid(
                os.P_PID, running._fork_server._pid, os.WEXITED | os.WNOWAIT
            )  # with it, its workers are gone
            submit(running, file)

        with monkeypatch.context() as patch:
            patch.setattr(WorkerRun, "submit", killing)
            report = grade(grader, RIGHT.format("pass"))
        assert report.verdict == "error"
        assert "the process that starts workers died each time" in report.first_failure().message
        assert grade(grader, RIGHT.format("pass")).verdict == "passed"


def test_the_grader_opens_no_file_while_it_waits(grader: Grader) -> None:
    """A submission may hold up whoever opens a file; the grader is not held up."""
    grade(grader, RIGHT.format("pass"))  # what is imported lazily is imported now
    opened: list[str] = []
    waiting: list[bool] = []

    def note(event: str, arguments: tuple[object, ...]) -> None:
        if event == "open" and waiting:
            opened.append(str(arguments[0]))

    sys.addaudithook(note)
    wait = WorkerRun._wait

    def watched(running: WorkerRun, *given: object) -> object:
        waiting.append(True)
        try:
            return wait(running, *given)
        finally:
            waiting.clear()

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(WorkerRun, "_wait", watched)
        for body in ("pass", "return x * 2"):
            grade(grader, RIGHT.format(body))
    assert opened == []
