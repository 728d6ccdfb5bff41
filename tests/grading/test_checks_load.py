"""The checks loads, interface, parameters and bad sizes, and workers that end suddenly."""

from pathlib import Path

import pytest

from attn_drill.grading.checks_load import signature_problem, sudden_end
from attn_drill.grading.comparison import Comparison
from attn_drill.grading.grader import Grader
from attn_drill.grading.judge import due_checks
from attn_drill.model.challenge import Parameter, Signature
from attn_drill.packs import pack_reader
from attn_drill.packs.mistakes import patch, read_mistakes
from attn_drill.worker.protocol import FoundParameter
from attn_drill.worker.worker_client import WorkerResult
from tests.support.grading import (
    CHECKED,
    GQA,
    assert_fails_first,
    failed_outcomes,
    grade,
    grade_prefix_sum,
    report_of,
    strict_pack,
)
from tests.support.rows import each_row

DROPOUT = "self.dropout = nn"
TEMPERATURE = "self.temperature = nn.Parameter(torch.ones(1))\n        self.dropout = nn"


@each_row(
    "old, new, says",
    {
        "import error": ("import math", "import maths", "No module named 'maths' at line 9"),
        "syntax error": (
            "def forward(self, x, mask=None):",
            "def forward(self, x, mask=None)",
            "expected ':' at line",
        ),
    },
)
def test_file_that_does_not_load_is_refused(grader: Grader, old: str, new: str, says: str) -> None:
    """The message has the exception and the line."""
    assert_fails_first(grade(grader, (old, new)), "loads", says)


@pytest.mark.sampled(4)
@each_row(
    "old, new, says",
    {
        "misspelt": (
            "class GroupedQueryAttention",
            "class GroupQueryAttention",
            "defines GroupQueryAttention. Rename GroupQueryAttention",
        ),
        "no module": (
            "class GroupedQueryAttention(nn.Module)",
            "class GroupedQueryAttention",
            "a class that is no nn.Module",
        ),
        "another name without a default": (
            "x, mask=None",
            "x, attention_mask",
            r"expected GroupedQueryAttention.forward\(x, mask=None\); found \(x, attention_mask\): "
            r"mask is missing \(attention_mask must have the default None to be used as mask\)",
        ),
        "another name and default": (
            "x, mask=None",
            "x, causal=False",
            r"mask is missing \(the default of causal is False and must be None",
        ),
        "swapped": ("x, mask=None", "mask=None, x=None", "x is argument 2 and must be argument 1"),
        "another name that is keyword-only": (
            "x, mask=None",
            "x, *, attention_mask=None",
            "mask is missing",
        ),
        "a name in the place of another": (
            "num_heads, num_kv_heads, dropout",
            "heads, num_heads, dropout",
            "num_heads is argument 3 and must be argument 2",
        ),
        "another order": (
            "dropout=0.0, bias=True",
            "bias=True, dropout=0.0",
            "dropout is argument 5 and must be argument 4",
        ),
        "an additional argument": ("x, mask=None", "x, scale, mask=None", "scale has no default"),
    },
)
def test_wrong_interface_is_refused(grader: Grader, old: str, new: str, says: str) -> None:
    """The message names the argument and the required change."""
    assert_fails_first(grade(grader, (old, new)), "interface", says)


@each_row(
    "old, new, says",
    {
        "no default": ("x, mask=None", "x, mask", "mask must have the default None"),
        "other defaults": (
            "dropout=0.0, bias=True",
            "dropout=0.1, bias=False",
            "the default of dropout is 0.1 and must be 0.0",
        ),
    },
)
def test_another_default_costs_only_its_row(grader: Grader, old: str, new: str, says: str) -> None:
    """All cases run with the defaults of the stub, so everything else passes."""
    report = grade(grader, (old, new))
    assert {outcome.check for outcome in failed_outcomes(report)} == {"defaults"}
    assert report.verdict == "failed"
    assert says in failed_outcomes(report)[0].message


@each_row(
    "old, new, says",
    {
        "an additional parameter": (
            DROPOUT,
            TEMPERATURE,
            r"temperature \[1\], which the contract does not have",
        ),
        "one layer for two roles": (
            DROPOUT,
            "self.v_proj = self.k_proj\n        self.dropout = nn",
            "v_proj.weight is the same parameter as k_proj.weight",
        ),
        "another shape": (
            "num_kv_heads * self.head_dim, bias=bias)",
            "d_model, bias=bias)",
            r"k_proj.weight is \[42, 42\] and must be \[21, 42\]",
        ),
    },
)
def test_wrong_parameters_are_refused(grader: Grader, old: str, new: str, says: str) -> None:
    """The message names the parameter and both shapes."""
    assert_fails_first(grade(grader, (old, new)), "parameters", says)


@pytest.mark.sampled(3)
@each_row(
    "old, new, says",
    {
        "no check": (
            "if d_model % num_heads != 0:",
            "if False:",
            "is accepted: d_model is not divisible by num_heads",
        ),
        "another exception": (
            'raise ValueError(f"d_model',
            'raise RuntimeError(f"d_model',
            "raises RuntimeError",
        ),
    },
)
def test_bad_sizes_must_be_refused(grader: Grader, old: str, new: str, says: str) -> None:
    """The message has the constructor call and the broken condition."""
    assert_fails_first(grade(grader, (old, new)), "bad sizes", says)


@pytest.mark.thorough
def test_chosen_assignment_is_reported(grader: Grader) -> None:
    """If the names of layers have no meaning, the report names the role of each layer."""
    path = GQA.solutions / "also_right/unnamed_layers.py"
    report = report_of(grader, GQA, path.read_text(), "gqa.py", 3)
    assert report.verdict == "passed"
    assert any("layers.3 as q" in note and "layers.0 as o" in note for note in report.notes)


LINEAR_Q = "self.q_proj = nn.Linear(d_model, d_model, bias=bias)"
LINEAR_KV = "nn.Linear(d_model, num_kv_heads * self.head_dim, bias=bias)"


@each_row(
    "changes, says",
    {
        "a foreign layer next to an unknown name": (
            [
                (DROPOUT, "self.norm = nn.LayerNorm(d_model)\n        self.dropout = nn"),
                ("self.v_proj", "self.unknown"),
            ],
            "your module has norm.weight [42], norm.bias [42], which the contract does not have.",
        ),
        "a bare parameter": (
            [
                (
                    f"self.v_proj = {LINEAR_KV}",
                    "self.v_proj = nn.Parameter("
                    "torch.zeros(num_kv_heads * self.head_dim, d_model))",
                )
            ],
            "v_proj is a bare nn.Parameter [21, 42] where the contract asks for "
            "v_proj.weight [21, 42]; use nn.Linear(42, 21).",
        ),
    },
)
def test_only_the_wrong_layer_is_named(
    grader: Grader, changes: list[tuple[str, str]], says: str
) -> None:
    """If one layer differs, the report does not mention the other layers."""
    report = grade(grader, *changes)
    failure = report.first_failure()
    assert failure.check == "parameters"
    assert says in failure.message
    assert "o_proj" not in failure.message


def test_other_argument_names_are_reported(grader: Grader) -> None:
    """The report says which argument was matched with which."""
    report = grade(
        grader,
        ("x, mask=None", "x, attn_mask=None"),
        ("batch, length, d_model = x", "mask = attn_mask\n        batch, length, d_model = x"),
    )
    assert report.verdict == "passed"
    note = "Arguments of GroupedQueryAttention.forward are matched by position: attn_mask as mask."
    assert note in report.notes


@pytest.mark.sampled(8)
@each_row(
    "challenge_id, signature, new_signature, first_line",
    {
        "a method": (
            "mha",
            "query, key, value, mask=None, return_weights=False",
            "q_in, k_in, v_in, attn_mask=None, need_weights=False",
            "query, key, value, mask, return_weights = q_in, k_in, v_in, attn_mask, need_weights",
        ),
        "a function": (
            "sdpa",
            "(q, k, v, mask=None)",
            "(query, key, value, attn_mask=None)",
            "q, k, v, mask = query, key, value, attn_mask",
        ),
        "one of several functions": (
            "rope",
            "(q, k, cos, sin, position_ids=None)",
            "(xq, xk, cosines, sines, positions=None)",
            "q, k, cos, sin, position_ids = xq, xk, cosines, sines, positions",
        ),
    },
)
def test_other_argument_names_work_in_other_challenges(
    grader: Grader, challenge_id: str, signature: str, new_signature: str, first_line: str
) -> None:
    """Methods and functions may have other argument names, for all ways in which `drive` calls."""
    challenge = pack_reader.find_challenge(pack_reader.built_in_pack(), challenge_id)
    head, _, tail = pack_reader.solution(challenge).partition(signature)
    line, _, rest = tail.partition("\n")
    indent = "    " * (2 if challenge.kind == "module" else 1)
    source = f"{head}{new_signature}{line}\n{indent}{first_line}\n{rest}"
    report = report_of(grader, challenge, source, challenge.file_name, 5)
    assert report.verdict == "passed", report.first_failure()


def test_open_ended_arguments_accept_all_calls() -> None:
    """`*args, **kwargs` reach the callable with any names."""
    signature = Signature("f", (Parameter("x"), Parameter("mask", False, None)))
    found = [
        FoundParameter("args", "VAR_POSITIONAL", False, None),
        FoundParameter("kwargs", "VAR_KEYWORD", False, None),
    ]
    assert signature_problem(signature, found) is None
    problem = signature_problem(signature, [])
    assert "x is missing; mask is missing" in problem


@each_row(
    "old, new, says",
    {
        "all good sizes refused": ("x.dim() != 2", "x.dim() == 2", ""),
        "some accepted": (
            "x.dim() != 2",
            "x.dim() < 2",
            r"prefix_sum\(x=tensor\[2, 3, 4\], reverse=True\) is accepted: x has 3 dims and "
            "needs 2. Raise a ValueError in prefix_sum",
        ),
        "another exception": ("ValueError", "KeyError", "must raise a ValueError"),
    },
)
def test_function_must_refuse_bad_sizes(
    grader: Grader, tmp_path: Path, old: str, new: str, says: str
) -> None:
    """A function is called with the bad sizes, and its answers to good sizes count too."""
    challenge = strict_pack(tmp_path / "pack")
    report = report_of(grader, challenge, CHECKED.replace(old, new), "a.py", 1)
    assert report.statuses()["bad sizes"] != "passed"
    assert report.verdict != "passed"
    if says:
        assert_fails_first(report, "bad sizes", says)


def test_function_that_refuses_bad_sizes_passes(grader: Grader, tmp_path: Path) -> None:
    """The reference passes, also with other names of its arguments."""
    challenge = strict_pack(tmp_path / "pack")
    source = CHECKED.replace("x.", "rows.").replace("(x", "(rows")
    report = report_of(grader, challenge, source, "a.py", 1)
    assert report.verdict == "passed", report.first_failure()
    assert report.statuses()["bad sizes"] == "passed"


def test_class_in_place_of_a_function_is_refused(grader: Grader) -> None:
    """It is defined, so the message must not say that it is missing."""
    sdpa = pack_reader.find_challenge(pack_reader.built_in_pack(), "sdpa")
    report = report_of(grader, sdpa, "class scaled_dot_product_attention:\n    pass\n", "a.py", 5)
    assert_fails_first(report, "interface", "_attention is a class; it must be a function")


@pytest.mark.thorough
def test_refused_call_is_shown_as_a_learner_writes_it(grader: Grader) -> None:
    """`drive` makes the call with arguments of its own, which a learner does not know."""
    challenge = pack_reader.find_challenge(pack_reader.built_in_pack(), "mini-gpt-cache")
    known = {mistake.id: mistake for mistake in read_mistakes(challenge)}
    mistake = known["generation-length-not-checked"]
    source = patch(pack_reader.solution(challenge), mistake, "")
    failure = report_of(grader, challenge, source, "a.py", 1).first_failure()
    assert failure.check == "bad sizes"
    assert failure.message.startswith(
        "generate(model, tokens [2, 3], 3) is accepted: a prompt of 3 and 3 new tokens, but "
        "max_seq_len is 5. Raise a ValueError in generate "
    )


@pytest.mark.thorough
def test_endless_import_is_reported_with_its_line(hasty: Grader) -> None:
    """The message says that the file was still being imported."""
    failure = grade_prefix_sum(hasty, "x = 1\nwhile True:\n    x += 1\n").first_failure()
    assert failure.check == "loads"
    assert "while the file was imported" in failure.message
    assert failure.frames[-1].line in (2, 3)


def test_worker_that_dies_in_a_case_fails_that_case(grader: Grader) -> None:
    """The last note of the worker is the index of the case. All other checks are skipped."""
    case_set = grader.case_set(GQA, 5)
    result = WorkerResult("died", reason="the process was killed", last_note=3)
    outcomes = sudden_end(comparison := Comparison(case_set, result), due_checks(comparison))
    assert outcomes is not None
    (failed,) = (outcome for outcome in outcomes if outcome.status == "failed")
    assert (failed.check, failed.case, failed.number) == ("runs", case_set.cases[3].name, 4)
    assert failed.message == "the process was killed"
    skipped = {outcome.check for outcome in outcomes if outcome.status == "skipped"}
    assert {"values", "masks", "gradients", "bad sizes"} <= skipped


def test_worker_that_dies_in_a_constructor_call_fails_bad_sizes(grader: Grader) -> None:
    """The notes after the cases are the indices of the refusals."""
    case_set = grader.case_set(GQA, 5)
    result = WorkerResult("timeout", last_note=len(case_set.cases), seconds=3.0)
    outcomes = sudden_end(comparison := Comparison(case_set, result), due_checks(comparison))
    assert outcomes is not None
    (failed,) = (outcome for outcome in outcomes if outcome.status == "failed")
    assert failed.check == "bad sizes"
    assert case_set.refusals[0].why in failed.message
    assert "it used 3 s of CPU time" in failed.message
    assert failed.advice == "`--time-limit` raises the limit"


@pytest.mark.parametrize(
    ("result", "advice"),
    [
        (WorkerResult("timeout", last_note=0, seconds=3.0), "`--time-limit` raises the limit"),
        (WorkerResult("timeout", last_note=0, seconds=3.0, slept=True), ""),
        (
            WorkerResult("died", reason="out of memory", out_of_memory=True, last_note=-1),
            "`--memory-limit` raises the limit",
        ),
        (WorkerResult("died", reason="the process was killed", last_note=0), ""),
    ],
    ids=["busy", "asleep", "memory", "killed"],
)
def test_option_that_raises_a_limit_is_not_in_the_message(
    grader: Grader, result: WorkerResult, advice: str
) -> None:
    """The students of a class see the message without the advice."""
    outcomes = sudden_end(
        comparison := Comparison(grader.case_set(GQA, 5), result), due_checks(comparison)
    )
    assert outcomes is not None
    (failed,) = (outcome for outcome in outcomes if outcome.status == "failed")
    assert failed.advice == advice
    assert "--" not in failed.message
    assert failed.advised_message.endswith(advice)
