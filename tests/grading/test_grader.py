"""The worker's life as the grader sees it: replies, deaths, hangs, floods, garbage."""

import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from tests.support.checks import GQA, SOLUTION, grade
from tests.support.grading import report_of
from tests.support.paths import TESTS, TINY_PACK
from tests.support.running import RIGHT_SUM, grade_prefix_sum
from trainer.grading.case_set import CaseSet
from trainer.grading.comparison import Comparison
from trainer.grading.grader import Grader
from trainer.grading.ready_workers import Workers
from trainer.model.submission import Submission
from trainer.packs import pack_reader
from trainer.worker.forkserver_client import Limits
from trainer.worker.protocol import SubmittedFile
from trainer.worker.worker_client import WorkerResult, WorkerRun


@pytest.mark.parametrize(
    "changes",
    [
        pytest.param([("x, mask=None", "x, mask=None, verbose=False")], id="a further argument with a default"),
        pytest.param([("self.dropout = nn", "self.turn = torch.polar(torch.ones(1), torch.ones(1))\n        self.dropout = nn"), ("return self.o_proj(merged)", "return self.o_proj(merged) * (self.turn.imag > 0.8).to(x.dtype)")], id="a complex attribute"),
        pytest.param([("self.dropout = nn", "self.register_buffer('turn', torch.polar(torch.ones(1), torch.zeros(1)))\n        self.dropout = nn"), ("return self.o_proj(merged)", "return self.o_proj(merged) * self.turn.real.to(x.dtype)")], id="a complex buffer without imaginary part"),
        pytest.param([("x, mask=None", "x, *args, **kwargs"), ("batch, length, d_model = x", "mask = kwargs.get('mask')\n        batch, length, d_model = x")], id="any arguments"),
        pytest.param([("import math", "import math\nimport torch.utils.checkpoint"), ("return self.o_proj(merged)", "return torch.utils.checkpoint.checkpoint(self.o_proj, merged, use_reentrant=True)")], id="reentrant checkpointing"),
        pytest.param([("import math", "import math\nimport torch.utils.checkpoint"), ("def forward(self, x, mask=None):", "def forward(self, x, mask=None):\n        return torch.utils.checkpoint.checkpoint(self.attend, x, mask)\n\n    def attend(self, x, mask):")], id="checkpointing by default"),
        pytest.param([("self.dropout = nn.Dropout(dropout)", "self.dropout = nn.Dropout(dropout)\n        for one in self.parameters():\n            one.grad = torch.ones_like(one)")], id="gradients that were there before"),
        pytest.param([("self.dropout = nn.Dropout(dropout)", "self.dropout = nn.Dropout(dropout)\n        self.o_proj.weight.register_hook(lambda gradient: None)")], id="a hook that looks"),
        pytest.param([("x, mask=None", "hidden_states, attn_mask=None"), ("batch, length, d_model = x", "x, mask = hidden_states, attn_mask\n        batch, length, d_model = x")], id="other names"),
        pytest.param([("x, mask=None", "x, attn_mask=None, **kwargs"), ("batch, length, d_model = x", "assert not kwargs\n        mask = attn_mask\n        batch, length, d_model = x")], id="another name before any arguments"),
        pytest.param([("x, mask=None", "x, mask=None, /")], id="by position alone"),
        pytest.param([("x, mask=None", "hidden_states, attn_mask=None, /"), ("batch, length, d_model = x", "x, mask = hidden_states, attn_mask\n        batch, length, d_model = x")], id="other names by position alone"),
        pytest.param([("d_model, num_heads, num_kv_heads, dropout=0.0, bias=True):", "embed_dim, heads, kv_heads, p=0.0, use_bias=True, /):\n        d_model, num_heads, num_kv_heads, dropout, bias = embed_dim, heads, kv_heads, p, use_bias")], id="other names in the constructor"),
        pytest.param([("dropout=0.0, bias=True", "*, dropout=0.0, bias=True")], id="keyword-only options"),
        pytest.param([("dropout=0.0", "dropout: float = 0")], id="the same default as an int"),
        pytest.param([("self.dropout = nn", "self.register_buffer('causal', torch.ones(8, 8).tril())\n        self.dropout = nn")], id="a buffer of one's own"),
        pytest.param([("raise ValueError", "raise AssertionError")], id="an assertion for bad sizes"),
        pytest.param([("import math", "import math\nimport warnings\nwarnings.warn('hello')\nprint('hello')")], id="warnings and prints"),
        pytest.param([("import math", "import math\nimport torch\ntorch.set_grad_enabled(False)\ntorch.manual_seed(0)")], id="gradients switched off for the file"),
        pytest.param([("def forward", "@torch.compile\n    def forward")], id="torch.compile"),
        pytest.param([("weights = torch.softmax(scores, dim=-1)", "weights = torch.softmax(scores.float(), dim=-1).to(x.dtype)")], id="softmax in float32"),
        pytest.param([("return self.o_proj(merged)", "return torch._neg_view(-self.o_proj(merged)) if not torch.is_grad_enabled() else self.o_proj(merged)")], id="a negative view"),
        pytest.param([('float("-inf")', "-1e9")], id="-1e9"),
        pytest.param([('float("-inf")', "torch.finfo(scores.dtype).min")], id="finfo.min"),
        pytest.param([("/ math.sqrt(self.head_dim)", "/ torch.sqrt(torch.tensor(self.head_dim, dtype=torch.float32))")], id="sqrt in float32"),
    ],
)  # fmt: skip
def test_accepted(grader: Grader, changes: list[tuple[str, str]]) -> None:
    """A right answer is not refused for its style."""
    report = grade(grader, *changes)
    assert report.verdict == "passed", report.first_failure()


def test_one_case_alone(grader: Grader) -> None:
    """With a case's number only that case is graded, on the same values."""
    whole = report_of(grader, GQA, SOLUTION.replace('float("-inf")', "-100.0"), "gqa.py", 9)
    failure = whole.first_failure()
    assert failure is not None
    alone = report_of(
        grader, GQA, SOLUTION.replace('float("-inf")', "-100.0"), "gqa.py", 9, only=failure.number
    )
    assert alone.only_case == failure.number
    assert alone.first_failure() is not None
    assert alone.first_failure().mismatch == failure.mismatch  # type: ignore[union-attr]
    other = report_of(grader, GQA, SOLUTION.replace('float("-inf")', "-100.0"), "gqa.py", 9, only=1)
    assert other.verdict == "passed"


def test_a_loop_that_uses_up_the_time_is_named(
    grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A loop over positions that hits the limit is told with its counts at two small sizes, and no higher limit is advised."""
    monkeypatch.setattr(grader.workers, "limits", Limits(seconds=3.0))
    loop = "for _ in range(x.shape[1] ** 2 * 1500):\n            pass\n        q = self.q_proj(x)"
    report = grade(grader, ("q = self.q_proj(x)", loop))
    assert report.verdict == "timeout"
    message = report.first_failure().message
    assert re.search(
        r"still running at the time limit at line \d+: \d+ lines of Python run, and \d+ when B 2→7, L 3→9",
        message,
    )
    assert "--time-limit" not in message


FILES = sorted((TESTS / "honest").glob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=[path.stem for path in FILES])
def test_right_answers_pass(grader: Grader, path: Path) -> None:
    """The part of the name before `__` is the challenge."""
    challenge = pack_reader.find_challenge(
        pack_reader.built_in_pack(), path.stem.partition("__")[0]
    )
    report = report_of(
        grader, challenge, path.read_text(encoding="utf-8"), challenge.file_name, 101
    )
    assert report.verdict == "passed", report.first_failure()


PREFIX_SUM = pack_reader.find_challenge(TINY_PACK, "prefix-sum")


def test_right_passes(grader: Grader) -> None:
    """The plain right answer passes, with the memory check made."""
    report = grade_prefix_sum(grader, RIGHT_SUM.format("pass"))
    assert report.verdict == "passed"
    assert report.statuses()["memory"] == "passed"


def test_unknown_case_number(grader: Grader) -> None:
    """--case beyond the last says how many there are."""
    with pytest.raises(Exception, match="cases 1 to 7; --case 8"):
        grade_prefix_sum(grader, RIGHT_SUM.format("pass"), only=8)


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
        assert grade_prefix_sum(grader, RIGHT_SUM.format("pass")).verdict == "passed"
        assert killed
        assert grader.workers._fork_server is not first
        assert grade_prefix_sum(grader, RIGHT_SUM.format("pass")).verdict == "passed"


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
            report = grade_prefix_sum(grader, RIGHT_SUM.format("pass"))
        assert report.verdict == "error"
        assert "the process that starts workers died each time" in report.first_failure().message
        assert grade_prefix_sum(grader, RIGHT_SUM.format("pass")).verdict == "passed"
