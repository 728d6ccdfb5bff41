"""The grader: accepted styles, single cases, layer assignments, time limits, lost fork servers."""

import os
import re
import signal
from pathlib import Path
from typing import Any

import pytest

from attn_drill.diagnosis.diagnose import Diagnoser
from attn_drill.grading.case_set import CaseSet
from attn_drill.grading.grader import Grader, Workers
from attn_drill.model.challenge import Limits, Submission
from attn_drill.model.errors import DrillError
from attn_drill.packs import pack_reader
from attn_drill.worker.protocol import SubmittedFile
from attn_drill.worker.worker_client import WorkerRun
from tests.support.grading import (
    GQA,
    RIGHT_SUM,
    SOLUTION,
    grade,
    grade_prefix_sum,
    report_of,
    with_tied_head,
)
from tests.support.paths import TESTS, TINY_PACK
from tests.support.rows import each_row

PREFIX_SUM = pack_reader.find_challenge(TINY_PACK, "prefix-sum")
UNNAMED_LAYERS = (GQA.solutions / "also_right" / "unnamed_layers.py").read_text(encoding="utf-8")

IMPORT = "import math"
ARGUMENTS = "x, mask=None"
FIRST_LINE = "batch, length, d_model = x"  # of `forward`
DROPOUT_LAYER = "self.dropout = nn.Dropout(dropout)"
RETURN = "return self.o_proj(merged)"
FORWARD = "def forward(self, x, mask=None):"


def before(line: str, *new_lines: str) -> tuple[str, str]:
    """Return a change that puts lines of a method before an existing line."""
    return line, "\n        ".join([*new_lines, line])


@pytest.mark.sampled(9)
@each_row(
    "changes",
    {
        "an additional argument with a default": [(ARGUMENTS, f"{ARGUMENTS}, verbose=False")],
        "a complex attribute": [
            before(DROPOUT_LAYER, "self.turn = torch.polar(torch.ones(1), torch.ones(1))"),
            (RETURN, f"{RETURN} * (self.turn.imag > 0.8).to(x.dtype)"),
        ],
        "a complex buffer without imaginary part": [
            before(
                DROPOUT_LAYER,
                "self.register_buffer('turn', torch.polar(torch.ones(1), torch.zeros(1)))",
            ),
            (RETURN, f"{RETURN} * self.turn.real.to(x.dtype)"),
        ],
        "any arguments": [
            (ARGUMENTS, "x, *args, **kwargs"),
            before(FIRST_LINE, "mask = kwargs.get('mask')"),
        ],
        "reentrant checkpointing": [
            (IMPORT, "import math\nimport torch.utils.checkpoint"),
            (
                RETURN,
                "return torch.utils.checkpoint.checkpoint(self.o_proj, merged, use_reentrant=True)",
            ),
        ],
        "checkpointing by default": [
            (IMPORT, "import math\nimport torch.utils.checkpoint"),
            (
                FORWARD,
                f"{FORWARD}\n"
                "        return torch.utils.checkpoint.checkpoint(self.attend, x, mask)\n\n"
                "    def attend(self, x, mask):",
            ),
        ],
        "gradients from before the call": [
            (
                DROPOUT_LAYER,
                f"{DROPOUT_LAYER}\n"
                "        for parameter in self.parameters():\n"
                "            parameter.grad = torch.ones_like(parameter)",
            )
        ],
        "a hook that changes nothing": [
            (
                DROPOUT_LAYER,
                f"{DROPOUT_LAYER}\n        self.o_proj.weight.register_hook(lambda gradient: None)",
            )
        ],
        "other names": [
            (ARGUMENTS, "hidden_states, attn_mask=None"),
            before(FIRST_LINE, "x, mask = hidden_states, attn_mask"),
        ],
        "another name before any arguments": [
            (ARGUMENTS, "x, attn_mask=None, **kwargs"),
            before(FIRST_LINE, "assert not kwargs", "mask = attn_mask"),
        ],
        "positional-only arguments": [(ARGUMENTS, f"{ARGUMENTS}, /")],
        "positional-only arguments with other names": [
            (ARGUMENTS, "hidden_states, attn_mask=None, /"),
            before(FIRST_LINE, "x, mask = hidden_states, attn_mask"),
        ],
        "other names in the constructor": [
            (
                "d_model, num_heads, num_kv_heads, dropout=0.0, bias=True):",
                "embed_dim, heads, kv_heads, p=0.0, use_bias=True, /):\n"
                "        d_model, num_heads, num_kv_heads = embed_dim, heads, kv_heads\n"
                "        dropout, bias = p, use_bias",
            )
        ],
        "keyword-only options": [("dropout=0.0, bias=True", "*, dropout=0.0, bias=True")],
        "the same default as an int": [("dropout=0.0", "dropout: float = 0")],
        "an additional buffer": [
            before(DROPOUT_LAYER, "self.register_buffer('causal', torch.ones(8, 8).tril())")
        ],
        "an assertion for bad sizes": [("raise ValueError", "raise AssertionError")],
        "warnings and prints": [
            (IMPORT, "import math\nimport warnings\nwarnings.warn('hello')\nprint('hello')")
        ],
        "gradients switched off for the file": [
            (
                IMPORT,
                "import math\nimport torch\ntorch.set_grad_enabled(False)\ntorch.manual_seed(0)",
            )
        ],
        "annotations that are classes": [
            (IMPORT, "import math\ndef f(x: int): ...\nassert f.__annotations__['x'] is int")
        ],
        "torch.compile": [("def forward", "@torch.compile\n    def forward")],
        "softmax in float32": [
            (
                "weights = torch.softmax(scores, dim=-1)",
                "weights = torch.softmax(scores.float(), dim=-1).to(x.dtype)",
            )
        ],
        "a negative view": [
            before(
                RETURN,
                "if not torch.is_grad_enabled():",
                "    return torch._neg_view(-self.o_proj(merged))",
            )
        ],
        "-1e9": [('float("-inf")', "-1e9")],
        "finfo.min": [('float("-inf")', "torch.finfo(scores.dtype).min")],
        "sqrt in float32": [
            (
                "/ math.sqrt(self.head_dim)",
                "/ torch.sqrt(torch.tensor(self.head_dim, dtype=torch.float32))",
            )
        ],
    },
)
def test_right_answer_in_another_style_passes(
    grader: Grader, changes: list[tuple[str, str]]
) -> None:
    """A right answer is not refused for its style."""
    report = grade(grader, *changes)
    assert report.verdict == "passed", report.first_failure()


@pytest.mark.thorough
@each_row(
    "was, now, expected",
    {
        "right": ("", "", None),
        "not scaled": ("scores / math.sqrt(self.head_dim)", "scores", "values"),
    },
)
def test_parameters_that_may_be_tied_are_tied_in_the_reference(
    grader: Grader, was: str, now: str, expected: str | None
) -> None:
    """A tied answer passes if it is right, and its mistake is named if it is wrong."""
    challenge = pack_reader.find_challenge(pack_reader.built_in_pack(), "mini-gpt")
    source = with_tied_head(challenge).replace(was, now)
    judgement = grader.grade(challenge, Submission("mini_gpt.py", source), 5)
    first = judgement.report.first_failure()
    assert (first.check if first else None) == expected
    if expected:
        assert Diagnoser(grader.workers).matching_mistake(judgement) == ("no-scale",)


HONEST_FILES = sorted((TESTS / "honest").glob("*.py"))


@pytest.mark.sampled(4)
@pytest.mark.thorough
@pytest.mark.parametrize("path", HONEST_FILES, ids=[path.stem for path in HONEST_FILES])
def test_right_answers_in_uncommon_styles_pass(grader: Grader, path: Path) -> None:
    """Grade each file of `tests/honest`. The part of its name before `__` is the challenge."""
    challenge = pack_reader.find_challenge(
        pack_reader.built_in_pack(), path.stem.partition("__")[0]
    )
    source = path.read_text(encoding="utf-8")
    report = report_of(grader, challenge, source, challenge.file_name, 101)
    assert report.verdict == "passed", report.first_failure()


def test_right_answer_passes_the_memory_check(grader: Grader) -> None:
    """The memory check is made, not skipped."""
    report = grade_prefix_sum(grader, RIGHT_SUM.format("pass"))
    assert report.verdict == "passed"
    assert report.statuses()["memory"] == "passed"


@pytest.mark.thorough
def test_single_case_has_the_same_values(grader: Grader) -> None:
    """With a case number, only this case is graded, on the same values as in a full run."""
    wrong = SOLUTION.replace('float("-inf")', "-100.0")
    failure = report_of(grader, GQA, wrong, "gqa.py", 9).first_failure()
    single = report_of(grader, GQA, wrong, "gqa.py", 9, only=failure.number)
    single_failure = single.first_failure()
    assert single.only_case == failure.number
    assert single_failure.mismatch == failure.mismatch
    assert report_of(grader, GQA, wrong, "gqa.py", 9, only=1).verdict == "passed"


def test_unknown_case_number_is_refused(grader: Grader) -> None:
    """The message has the number of cases."""
    with pytest.raises(DrillError, match="cases 1 to 7; --case 8"):
        grade_prefix_sum(grader, RIGHT_SUM.format("pass"), only=8)


@pytest.mark.thorough
def test_loop_is_named_after_a_timeout(grader: Grader, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message has the counts of the loop at two small sizes, and no advice on the limit."""
    monkeypatch.setattr(grader.workers, "limits", Limits(seconds=3.0))
    loop = "for _ in range(x.shape[1] ** 2 * 1500):\n            pass\n        q = self.q_proj(x)"
    report = grade(grader, ("q = self.q_proj(x)", loop))
    assert report.verdict == "timeout"
    message = report.first_failure().message
    assert re.search(
        r"still running at the time limit at line \d+: "
        r"\d+ lines of Python run, and \d+ when B 2→7, L 3→9",
        message,
    )
    assert "--time-limit" not in message


def test_meant_assignment_is_found_by_one_case(
    grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If layer names have no meaning, all cases run twice; one case tries the assignments.

    The report has the number of assignments.
    """
    case_set = grader.case_set(GQA, 7)
    begun: list[tuple[int, Any]] = []
    begin = Workers.begin

    def recorded_begin(
        workers: Workers, case_set: CaseSet, submission: Submission, assignment: Any, *more: Any
    ) -> WorkerRun:
        begun.append((len(case_set.cases), assignment))
        return begin(workers, case_set, submission, assignment, *more)

    monkeypatch.setattr(Workers, "begin", recorded_begin)
    report = report_of(grader, GQA, UNNAMED_LAYERS, "gqa.py", 7)
    assert report.verdict == "passed"
    first, *trials, last = begun
    assert first == (len(case_set.cases), {})
    assert last == (len(case_set.cases), trials[-1][1]), "the others after the right one are tried"
    assert 1 <= len(trials) <= 4
    assert {count for count, _ in trials} == {1}
    (parameters,) = (outcome for outcome in report.outcomes if outcome.check == "parameters")
    assert "The names of the layers allow 4 assignments" in parameters.message


@pytest.mark.thorough
def test_no_more_assignments_are_tried_after_a_timeout(
    grader: Grader, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An answer that sleeps uses no CPU time, so each of 24 trials would take the whole time."""
    tried: list[WorkerRun] = []
    finish = WorkerRun.finish

    def counted(running: WorkerRun, *arguments: Any) -> Any:
        tried.append(running)
        return finish(running, *arguments)

    monkeypatch.setattr(WorkerRun, "finish", counted)
    monkeypatch.setattr(grader.workers, "limits", Limits(seconds=0.5))
    source = UNNAMED_LAYERS.replace(
        "return last(", "__import__('time').sleep(60)\n        return last("
    )
    assert source != UNNAMED_LAYERS
    assert report_of(grader, GQA, source, "gqa.py", 7).verdict == "timeout"
    assert len(tried) == 3, "the first run, a trial and the last run"


@pytest.mark.thorough
def test_wrong_values_are_found_under_every_assignment(grader: Grader) -> None:
    """If no assignment is right, the report is about the first one, and the verdict is failed."""
    source = UNNAMED_LAYERS.replace("return last(", "return 1.01 * last(")
    assert source != UNNAMED_LAYERS
    report = report_of(grader, GQA, source, "gqa.py", 7)
    assert report.verdict == "failed"
    assert report.first_failure().check == "values"


@pytest.mark.thorough
def test_judgement_keeps_the_graded_assignment(grader: Grader) -> None:
    """More assignments can fit a single case than all cases, so a later run gets the graded one."""
    submission, case_set = Submission("gqa.py", UNNAMED_LAYERS), grader.case_set(GQA, 7)
    judgement = grader.judge(case_set, submission)
    assert judgement.report.verdict == "passed"
    assert judgement.assignment == {
        "layers.0": ["o"],
        "layers.1": ["v"],
        "layers.2": ["k"],
        "layers.3": ["q"],
    }
    square = next(
        index
        for index, case in enumerate(case_set.cases)
        if case.sizes.get("H") == case.sizes.get("Hkv")
    )
    single = case_set.select([square], alone=True)
    result = grader.workers.run(single, submission, judgement.assignment)
    assert result.reply.assignment == judgement.assignment


def test_dead_fork_server_is_replaced(monkeypatch: pytest.MonkeyPatch) -> None:
    """The submission is graded again with a new fork server, and so are later submissions."""
    with Grader([pack_reader.built_in_pack(), TINY_PACK], Limits(seconds=60.0)) as grader:
        grader.workers.preload(grader.case_set(PREFIX_SUM, 7))
        first = grader.workers._fork_server
        submit, killed = WorkerRun.submit, list[int]()

        def kill_once(running: WorkerRun, file: SubmittedFile) -> None:
            if not killed:
                killed.append(first._pid)
                os.kill(first._pid, signal.SIGKILL)
                os.waitid(os.P_PID, first._pid, os.WEXITED | os.WNOWAIT)
            submit(running, file)

        monkeypatch.setattr(WorkerRun, "submit", kill_once)
        assert grade_prefix_sum(grader, RIGHT_SUM.format("pass")).verdict == "passed"
        assert killed
        assert grader.workers._fork_server is not first
        assert grade_prefix_sum(grader, RIGHT_SUM.format("pass")).verdict == "passed"


def test_file_that_kills_every_fork_server_has_a_verdict(monkeypatch: pytest.MonkeyPatch) -> None:
    """The file is the likely cause, so the error is the file's, not the grader's.

    The next file is graded as usual.
    """
    with Grader([pack_reader.built_in_pack(), TINY_PACK], Limits(seconds=60.0)) as grader:
        submit = WorkerRun.submit

        def kill_always(running: WorkerRun, file: SubmittedFile) -> None:
            pid = running._fork_server._pid
            os.kill(pid, signal.SIGKILL)  # the workers die with their fork server
            os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
            submit(running, file)

        with monkeypatch.context() as patch:
            patch.setattr(WorkerRun, "submit", kill_always)
            report = grade_prefix_sum(grader, RIGHT_SUM.format("pass"))
        assert report.verdict == "error"
        assert "the process that starts workers died" in report.first_failure().message
        assert grade_prefix_sum(grader, RIGHT_SUM.format("pass")).verdict == "passed"
