"""Each check refuses what it alone is for, and says so; tables of refused and accepted submissions of gqa."""

import math
import re
from itertools import combinations

import pytest
import torch

from tests.support.grading import report_of
from tests.support.paths import TINY_PACK
from trainer.grading import comparison
from trainer.grading.comparison import CaseResult, Comparison
from trainer.grading.grader import Grader
from trainer.grading.shapes import name_shape, shape_advice
from trainer.grading.tensor_comparison import compare_values
from trainer.model.report import Outcome, Report
from trainer.model.submission import Submission
from trainer.packs import pack_reader
from trainer.worker.forkserver_client import Limits

GQA = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
SOLUTION = pack_reader.solution(GQA)


def grade(grader: Grader, *changes: tuple[str, str]) -> Report:
    """Grade the reference with these replacements, each of which must apply."""
    source = SOLUTION
    for old, new in changes:
        assert old in source, old
        source = source.replace(old, new)
    return report_of(grader, GQA, source, "gqa.py", 5)


@pytest.mark.parametrize(
    ("old", "new", "check", "says"),
    [
        pytest.param("import math", "import maths", "loads", "No module named 'maths' at line 9", id="import error"),
        pytest.param("def forward(self, x, mask=None):", "def forward(self, x, mask=None)", "loads", "expected ':' at line", id="syntax error"),
        pytest.param("class GroupedQueryAttention", "class GroupQueryAttention", "interface", "defines GroupQueryAttention. Rename GroupQueryAttention", id="misspelt"),
        pytest.param("class GroupedQueryAttention(nn.Module)", "class GroupedQueryAttention", "interface", "a class that is no nn.Module", id="no module"),
        pytest.param("x, mask=None", "x, attention_mask", "interface", r"expected GroupedQueryAttention.forward\(x, mask=None\); found \(x, attention_mask\): mask is missing \(attention_mask must have the default None to stand for it\)", id="another name without a default"),
        pytest.param("x, mask=None", "x, causal=False", "interface", r"mask is missing \(the default of causal is False and must be None", id="another name and default"),
        pytest.param("x, mask=None", "mask=None, x=None", "interface", "x is number 2 and must be number 1", id="swapped"),
        pytest.param("x, mask=None", "x, *, attention_mask=None", "interface", "mask is missing", id="another name that is keyword-only"),
        pytest.param("num_heads, num_kv_heads, dropout", "heads, num_heads, dropout", "interface", "num_heads is number 3 and must be number 2", id="a name in another's place"),
        pytest.param("x, mask=None", "x, mask", "interface", "mask must have the default None", id="no default"),
        pytest.param("dropout=0.0", "dropout=0.1", "interface", "the default of dropout is 0.1 and must be 0.0", id="another default"),
        pytest.param("dropout=0.0, bias=True", "bias=True, dropout=0.0", "interface", "dropout is number 5 and must be number 4", id="another order"),
        pytest.param("x, mask=None", "x, scale, mask=None", "interface", "scale has no default", id="one more"),
        pytest.param("self.dropout = nn", "self.temperature = nn.Parameter(torch.ones(1))\n        self.dropout = nn", "parameters", r"temperature \[1\], which the contract does not", id="a parameter too many"),
        pytest.param("self.dropout = nn", "self.v_proj = self.k_proj\n        self.dropout = nn", "parameters", "v_proj.weight is the same parameter as k_proj.weight", id="one layer for two"),
        pytest.param("num_kv_heads * self.head_dim, bias=bias)", "d_model, bias=bias)", "parameters", r"k_proj.weight is \[42, 42\] and must be \[21, 42\]", id="another shape"),
        pytest.param("return self.o_proj(merged)", "self.o_proj(merged)", "shapes", "out is None", id="no return"),
        pytest.param("return self.o_proj(merged)", "return self.o_proj(merged), weights", "shapes", r"out is a tuple of 2: \(Tensor \[2, 5, 42\], Tensor \[2, 6, 5, 5\]\)", id="a tuple"),
        pytest.param("return self.o_proj(merged)", "return self.o_proj(merged).transpose(1, 2)", "shapes", r"transpose\(1, 2\) would give the right shape", id="transposed"),
        pytest.param("return self.o_proj(merged)", "return self.o_proj(merged).float()", "dtype", "out has dtype float32; it must have float64", id="dtype"),
        pytest.param("return self.o_proj(merged)", "return self.o_proj(merged).to('meta')", "dtype", "out has device meta", id="device"),
        pytest.param("return self.o_proj(merged)", "return self.o_proj(merged) * 1.001", "values", "values of out differ", id="a factor"),
        pytest.param("return self.o_proj(merged)", "return self.o_proj(merged) if self.training else torch.full_like(x, float('nan'))", "values", "values of out differ", id="NaN"),
        pytest.param('float("-inf")', "-150.0", "masks", "values of out differ", id="a soft mask"),
        pytest.param("return self.o_proj(merged)", "return self.o_proj(merged).detach()", "gradients", "no gradient reaches x", id="detached"),
        pytest.param("weights = torch.softmax(scores, dim=-1)", "weights = torch.softmax(scores.detach(), dim=-1)", "gradients", "gradient of", id="scores detached"),
        pytest.param("return self.o_proj(merged)", "return self.o_proj(merged) * (1.01 if torch.is_grad_enabled() else 1)", "gradients", "with gradients enabled", id="another value with gradients"),
        pytest.param("return self.o_proj(merged)", "return torch.utils.checkpoint.checkpoint(lambda some: self.o_proj(some).detach() + some, merged, use_reentrant=True) - merged", "gradients", "gradient", id="detached within a checkpoint"),
        pytest.param("self.dropout = nn.Dropout(dropout)", "self.dropout = nn.Dropout(dropout)\n        self.v_proj.weight.register_hook(lambda gradient: 2 * gradient)", "gradients", "gradient of v_proj.weight", id="a hook that doubles"),
        pytest.param("weights = self.dropout(weights)", "", "train/eval", "nothing is dropped", id="no dropout"),
        pytest.param("weights = self.dropout(weights)", "weights = self.dropout(weights) * (1 - self.dropout.p if self.training else 1)", "train/eval", "divided by 1 - p", id="not rescaled"),
        pytest.param("batch, length, d_model = x.shape", "batch, length, d_model = x.shape\n        if x.is_contiguous() and not x.requires_grad:\n            x.neg_()\n            x = -x", "properties", "the input x is changed in place", id="input changed"),
        pytest.param("batch, length, d_model = x.shape", "batch, length, d_model = x.shape\n        self.cache = getattr(self, 'cache', {})\n        x = self.cache.setdefault((x.data_ptr(), x.requires_grad), x.clone() if not x.requires_grad else x)", "properties", "on a second call with new values", id="cached by address"),
        pytest.param("return self.o_proj(merged)", "out = self.o_proj(merged)\n        if torch.is_grad_enabled():\n            return out\n        if getattr(self, 'kept', None) is None or self.kept.shape != out.shape:\n            self.kept = out.clone()\n        self.kept.copy_(out)\n        return self.kept", "properties", "a second call changes out", id="one buffer for all results"),
        pytest.param("masked_fill(~mask,", "masked_fill(mask.logical_not_(),", "runs", "an input is changed in place, and here several of its entries share memory", id="expanded mask changed"),
        pytest.param("if d_model % num_heads != 0:", "if False:", "bad sizes", "is accepted: d_model is not divisible by num_heads", id="no check"),
        pytest.param('raise ValueError(f"d_model', 'raise RuntimeError(f"d_model', "bad sizes", "raises RuntimeError", id="another exception"),
        pytest.param("heads = weights @ v", "heads = torch.stack([torch.stack([weights[b, h] @ v[b, h] for h in range(self.num_heads)]) for b in range(batch)])", "vectorised", "tensor operations become", id="a loop"),
        pytest.param("heads = weights @ v", "heads = sum(weights[..., j : j + 1] * v[..., j : j + 1, :] for j in range(length))", "vectorised", "tensor operations become", id="a loop over keys"),
    ],
)  # fmt: skip
def test_refused(grader: Grader, old: str, new: str, check: str, says: str) -> None:
    """The check fails first, and says what and where."""
    report = grade(grader, (old, new))
    assert report.verdict != "passed"
    failure = report.first_failure()
    assert failure is not None
    assert failure.check == check, failure
    messages = [
        one.message for one in report.outcomes if one.check == check and one.status == "failed"
    ]
    assert any(re.search(says, message) for message in messages), failure.message


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


def test_later_checks_are_skipped_with_the_reason(grader: Grader) -> None:
    """A check that needs a failed one says which; one that does not is made."""
    report = grade(grader, ("math.sqrt(self.head_dim)", "self.head_dim"))
    reasons = {one.check: one.message for one in report.outcomes if one.status == "skipped"}
    assert reasons == {
        "masks": "needs values",
        "gradients": "needs values",
        "train/eval": "needs values",
        "properties": "needs values",
    }
    assert report.statuses()["vectorised"] == "passed"


# Bugs of gqa that do not touch each other's lines: each can be there with or without the others.
BUGS = {
    "a mask raises": (
        "if mask is not None:",
        "if mask is not None:\n            raise RuntimeError",
    ),
    "a long input raises": (
        "batch, length, d_model = x.shape",
        "batch, length, d_model = x.shape\n        assert length < 7",
    ),
    "the constructor raises": (
        "self.num_heads = num_heads\n",
        "self.num_heads = 6 // (num_kv_heads - 1)\n        self.num_heads = num_heads\n",
    ),
    "no scale": ("scores = scores / math.sqrt(self.head_dim)", ""),
    "no dropout": ("weights = self.dropout(weights)", ""),
    "a soft mask": ('float("-inf")', "-150.0"),
    "no gradient": ("weights @ v", "weights @ v.detach()"),
    "no refusal": ("if d_model % num_heads != 0:", "if False:"),
    "library attention": (
        "scores = q @ k.transpose(-2, -1)",
        "nn.functional.scaled_dot_product_attention(q, k, v)\n        scores = q @ k.transpose(-2, -1)",
    ),
}


@pytest.mark.sampled(2)
@pytest.mark.parametrize(
    "bugs",
    [
        pytest.param(("a mask raises", "no scale", "no gradient"), id="values after a crash"),
        pytest.param(("a mask raises", "a soft mask", "no dropout"), id="masks after a crash"),
        pytest.param(("a long input raises", "no gradient", "a soft mask"), id="gradients"),
        pytest.param(("the constructor raises", "no refusal", "no scale"), id="constructor"),
        pytest.param(("a mask raises", "library attention", "no refusal"), id="library"),
    ],
)
def test_fixing_a_bug_never_takes_a_check_away(grader: Grader, bugs: tuple[str, ...]) -> None:
    """Every check that passes with some bugs passes with fewer of them too."""
    passed = {
        frozenset(some): {
            name
            for name, status in grade(grader, *(BUGS[bug] for bug in some)).statuses().items()
            if status == "passed"
        }
        for count in range(len(bugs) + 1)
        for some in combinations(bugs, count)
    }
    for some, checks in passed.items():
        for bug in some:
            assert checks <= passed[some - {bug}], (sorted(some), bug)


def test_a_check_passes_only_if_all_its_cases_ran(grader: Grader) -> None:
    """A raise in every case with a mask leaves what needs no mask."""
    report = grade(grader, BUGS["a mask raises"])
    statuses = report.statuses()
    passed = {name for name, status in statuses.items() if status == "passed"}
    assert passed == {"loads", "interface", "parameters", "values", "bad sizes"}
    assert {name for name, status in statuses.items() if status == "failed"} == {"runs"}
    said = {one.check: one.message for one in report.outcomes if one.status == "skipped"}
    assert re.search(r"^\d+ of \d+ cases did not run", said["masks"])
    assert re.search(r"^\d+ of \d+ cases did not run", said["vectorised"])
    assert report.verdict == "error"


def test_a_constructor_that_always_raises_refuses_nothing(grader: Grader) -> None:
    """It refuses bad sizes too, but not because they are bad."""
    always = ("super().__init__()", "raise ValueError")
    statuses = grade(grader, always).statuses()
    assert statuses["bad sizes"] == "skipped"
    assert {name for name, status in statuses.items() if status == "passed"} == {
        "loads",
        "interface",
    }


def test_wrong_cases_are_no_reason_for_a_later_check_to_pass(grader: Grader) -> None:
    """Gradients are compared only in cases with right values; the others are missing."""
    report = grade(grader, ("if mask is not None:", "if mask is not None and mask.dim() != 2:"))
    assert report.statuses()["masks"] == "failed"
    assert report.statuses()["gradients"] == "skipped"
    said = [one.message for one in report.outcomes if one.check == "gradients"]
    assert any("no right output" in message for message in said), said


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


def test_the_assignment_that_was_taken_is_said(grader: Grader) -> None:
    """Names that say nothing: the report tells which layer was taken for which."""
    path = GQA.solutions / "also_right/unnamed_layers.py"
    report = report_of(grader, GQA, path.read_text(), "gqa.py", 3)
    assert report.verdict == "passed"
    assert any("layers.3 as q" in note and "layers.0 as o" in note for note in report.notes)


# Hand-written dropout on the weights, in place of `self.dropout(weights)`.
KEEP = "(torch.rand_like(weights) >= self.dropout.p)"
IF_TRAINING = "if self.training and self.dropout.p > 0:\n            "
OWN_FUNCTION = """class Own(torch.autograd.Function):
    @staticmethod
    def forward(ctx, weights, p):
        keep = (torch.rand_like(weights) >= p).to(weights.dtype)
        ctx.save_for_backward(keep)
        ctx.p = p
        return weights * keep / (1 - p)

    @staticmethod
    def backward(ctx, gradient):
        (keep,) = ctx.saved_tensors
        return BACKWARD, None


class Grouped"""


@pytest.mark.parametrize(
    ("line", "right"),
    [
        pytest.param("weights = nn.functional.dropout(weights, self.dropout.p, self.training)", True, id="F.dropout"),
        pytest.param(IF_TRAINING + f"weights = weights * {KEEP} / (1 - self.dropout.p)", True, id="a mask of zeros and ones"),
        pytest.param(IF_TRAINING + "weights = weights * torch.bernoulli(torch.full_like(weights, 1 - self.dropout.p)).div(1 - self.dropout.p)", True, id="bernoulli"),
        pytest.param(IF_TRAINING + f"weights = weights.masked_fill(~{KEEP}, 0.0) / (1 - self.dropout.p)", True, id="masked_fill"),
        pytest.param("weights = Own.apply(weights, self.dropout.p) if self.training else weights", True, id="a function of one's own"),
        pytest.param(IF_TRAINING + f"weights.data = weights.data * {KEEP} / (1 - self.dropout.p)", False, id="data"),
        pytest.param(IF_TRAINING + f"with torch.no_grad():\n                weights = weights * {KEEP} / (1 - self.dropout.p)", False, id="no_grad"),
        pytest.param(IF_TRAINING + f"weights = weights + (weights * {KEEP} / (1 - self.dropout.p) - weights).detach()", False, id="straight through"),
        pytest.param(IF_TRAINING + f"weights = weights * {KEEP}\n            weights = weights + (weights / (1 - self.dropout.p) - weights).detach()", False, id="scaled in the forward pass only"),
        pytest.param("weights = Own.apply(weights, self.dropout.p) if self.training else weights  # gradient * keep", False, id="not scaled in the backward pass"),
        pytest.param("weights = Own.apply(weights, self.dropout.p) if self.training else weights  # gradient * (torch.rand_like(gradient) >= ctx.p) / (1 - ctx.p)", False, id="drawn anew in the backward pass"),
        pytest.param("weights = Own.apply(weights, self.dropout.p) if self.training else weights  # gradient", False, id="passed on in the backward pass"),
    ],
)  # fmt: skip
def test_dropout_in_the_backward_pass(grader: Grader, line: str, right: bool) -> None:
    """The gradient has the same entries dropped and scaled as the output."""
    line, _, backward = line.partition("  # ")
    own = OWN_FUNCTION.replace("BACKWARD", backward or "gradient * keep / (1 - ctx.p)")
    changes = ("weights = self.dropout(weights)", line), ("class Grouped", own)
    report = grade(grader, *changes)
    if right:
        assert report.verdict == "passed", report.first_failure()
        return
    failed = [one for one in report.outcomes if one.status == "failed"]
    assert "train/eval" in {one.check for one in failed}
    assert any("must drop and scale the same entries" in one.message for one in failed), failed


@pytest.mark.parametrize("challenge", ["mha", "mha-fused", "mqa", "gqa", "rope-mha"])
def test_every_dropout_that_is_read_out_has_gradients(grader: Grader, challenge: str) -> None:
    """The reference's gradients under what was dropped are there, and depend on it."""
    case_set = grader.case_set(
        pack_reader.find_challenge(pack_reader.built_in_pack(), challenge), 3
    )
    dropped = [prepared for prepared in case_set.prepared if prepared.case.dropout is not None]
    assert dropped
    for prepared in dropped:
        (name,) = prepared.case.dims
        weights = prepared.expected.outputs[name].value
        half = weights.clone()
        half[..., ::2] = 0
        gradients_under = prepared.reference.gradients_under
        whole, some = (gradients_under(prepared, name, value) for value in (weights, half))
        assert whole is not None
        assert some is not None
        (value,) = {"v_proj.weight", "qkv_proj.weight"} & some.gradients.keys()
        assert not torch.allclose(whole.gradients[value].value, some.gradients[value].value)


@pytest.mark.parametrize("persistent", [True, False])
def test_a_complex_buffer_is_cast_as_torch_casts_it(grader: Grader, persistent: bool) -> None:
    """It loses its imaginary part, and the report says so; in float32 nothing is cast."""
    buffer = f"self.register_buffer('turn', torch.polar(torch.ones(1), torch.ones(1)), persistent={persistent})"
    report = grade(
        grader,
        ("self.dropout = nn", f"{buffer}\n        self.dropout = nn"),
        ("return self.o_proj(merged)", "turned = self.turn * (1 - 0.25j) + 0j\n        return self.o_proj(merged) * (turned.imag > 0.5).to(x.dtype)"),
    )  # fmt: skip
    failed = [one for one in report.outcomes if one.status == "failed"]
    assert failed
    for outcome in failed:
        dtype = report.cases[outcome.number - 1].dtype  # type: ignore[operator]  # all are of cases
        assert dtype != "float32"
        said = f"the buffer turn lost its imaginary part when the module was cast to {dtype}"
        assert said in outcome.message


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        pytest.param(
            [("self.q_proj = nn.Linear(d_model, d_model, bias=bias)", "self.q_proj = nn.LazyLinear(d_model, bias=bias)")],
            "q_proj is a lazy layer (nn.LazyLinear): its shape is not known before the first call; "
            "use nn.Linear(42, 42).",
            id="one lazy layer",
        ),
        pytest.param(
            [("nn.Linear(d_model, num_kv_heads * self.head_dim, bias=bias)", "nn.LazyLinear(num_kv_heads * self.head_dim, bias=bias)")],
            "k_proj is a lazy layer (nn.LazyLinear): its shape is not known before the first call; "
            "use nn.Linear(42, 21); v_proj is a lazy layer",
            id="two lazy layers",
        ),
        pytest.param(
            [("self.dropout = nn", "self.norm = nn.LayerNorm(d_model)\n        self.dropout = nn"), ("self.v_proj", "self.mine")],
            "your module has norm.weight [42], norm.bias [42], which the contract does not.",
            id="a foreign layer beside an unknown name",
        ),
        pytest.param(
            [("self.v_proj = nn.Linear(d_model, num_kv_heads * self.head_dim, bias=bias)", "self.v_proj = nn.Parameter(torch.zeros(num_kv_heads * self.head_dim, d_model))")],
            "v_proj is a bare nn.Parameter [21, 42] where the contract asks for v_proj.weight [21, 42]; "
            "use nn.Linear(42, 21).",
            id="a bare parameter",
        ),
    ],
)  # fmt: skip
def test_the_layer_that_differs_is_named(
    grader: Grader, changes: list[tuple[str, str]], says: str
) -> None:
    """One layer differs, and the report speaks of no other."""
    report = grade(grader, *changes)
    failure = report.first_failure()
    assert failure is not None
    assert failure.check == "parameters"
    assert says in failure.message
    assert "o_proj" not in failure.message


def test_other_names_are_said(grader: Grader) -> None:
    """The report tells which argument was taken for which."""
    report = grade(
        grader,
        ("x, mask=None", "x, attn_mask=None"),
        ("batch, length, d_model = x", "mask = attn_mask\n        batch, length, d_model = x"),
    )
    assert report.verdict == "passed"
    said = (
        "Arguments of GroupedQueryAttention.forward are taken by their places: attn_mask as mask."
    )
    assert said in report.notes


@pytest.mark.parametrize(
    ("challenge", "changes"),
    [
        pytest.param(
            "mha",
            {
                "query, key, value, mask=None, return_weights=False": "q_in, k_in, v_in, attn_mask=None, need_weights=False",
                "HEAD": "query, key, value, mask, return_weights = q_in, k_in, v_in, attn_mask, need_weights",
            },
            id="a method",
        ),
        pytest.param(
            "sdpa",
            {
                "(q, k, v, mask=None)": "(query, key, value, attn_mask=None)",
                "HEAD": "q, k, v, mask = query, key, value, attn_mask",
            },
            id="a function",
        ),
        pytest.param(
            "rope",
            {
                "(q, k, cos, sin, position_ids=None)": "(xq, xk, cosines, sines, positions=None)",
                "HEAD": "q, k, cos, sin, position_ids = xq, xk, cosines, sines, positions",
            },
            id="one of several functions",
        ),
    ],
)
def test_other_names_in_other_challenges(
    grader: Grader, challenge: str, changes: dict[str, str]
) -> None:
    """Whatever is called, and however `drive` calls it."""
    found = pack_reader.find_challenge(pack_reader.built_in_pack(), challenge)
    old, new = next(iter(changes.items()))
    head, _, tail = pack_reader.solution(found).partition(old)
    line, _, rest = tail.partition("\n")
    indent = "    " * (2 if found.kind == "module" else 1)
    source = f"{head}{new}{line}\n{indent}{changes['HEAD']}\n{rest}"
    report = report_of(grader, found, source, found.file_name, 5)
    assert report.verdict == "passed", report.first_failure()


@pytest.mark.parametrize(
    ("shape", "dims", "expected"),
    [
        pytest.param((2, 5, 12), "B L (H D)", "[B=2, L=5, H·D=12]", id="as the dims say"),
        pytest.param((2, 12, 5), "B L (H D)", "[B=2, M=12, L=5]", id="by sizes"),
        pytest.param((2, 3, 5, 4), "", "[B=2, H=3, L=5, D=4]", id="heads apart"),
        pytest.param((2, 15), "", "[B=2, H·L=15]", id="a product"),
        pytest.param((99,), "", "[99]", id="unknown"),
        pytest.param((6, 6), "", "[Lq=6, Lk=6]", id="two letters of one size"),
        pytest.param(
            (6, 6, 6), "", "[Lq=6, Lk=6, Lq=6]", id="more axes than letters of their size"
        ),
        pytest.param(
            (2, 12, 12),
            "B L (H D)",
            "[B=2, 12, H·D=12]",
            id="one size wrong, which is another letter's",
        ),
    ],
)
def test_name_shape(shape: tuple[int, ...], dims: str, expected: str) -> None:
    """Sizes are told by their letters."""
    assert (
        name_shape(shape, {"B": 2, "L": 5, "H": 3, "D": 4, "M": 12, "Lq": 6, "Lk": 6}, dims)
        == expected
    )


def test_numbers_that_differ_look_different(grader: Grader) -> None:
    """As many digits as it takes."""
    source = "def prefix_sum(x, reverse=False):\n    return (x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)) * 1.00001\n"
    failure = report_of(
        grader,
        pack_reader.find_challenge(TINY_PACK, "prefix-sum"),
        source,
        "prefix_sum.py",
        7,
        only=1,
    ).first_failure()
    assert failure is not None
    found = re.search(r"it is (\S+) and must be (\S+)$", failure.message)
    assert found is not None, failure.message
    assert found[1] != found[2]


@pytest.mark.parametrize(
    ("expected", "actual", "says"),
    [
        pytest.param((2, 5, 12), (2, 12, 5), "transpose(1, 2)", id="two swapped"),
        pytest.param((2, 5, 12), (5, 12, 2), "permute(2, 0, 1)", id="all moved"),
        pytest.param((2, 5, 12), (2, 3, 5, 4), "as many entries", id="heads apart"),
        pytest.param((2, 1, 5), (2, 5), "an axis of size 1 is missing", id="an axis of 1 missing"),
        pytest.param(
            (2, 1, 1, 5), (2, 5), "2 axes of size 1 are missing", id="two axes of 1 missing"
        ),
        pytest.param(
            (2, 5), (2, 1, 5), "an axis of size 1 is too many", id="an axis of 1 too many"
        ),
        pytest.param((2, 5, 12), (2, 5, 13), "", id="nothing to say"),
    ],
)
def test_shape_advice(expected: tuple[int, ...], actual: tuple[int, ...], says: str) -> None:
    """Which permutation or reshape is missing, where one is."""
    assert says in shape_advice(expected, actual)
    assert bool(says) == bool(shape_advice(expected, actual))


SIGNS = pack_reader.find_challenge(TINY_PACK, "signs")


@pytest.mark.parametrize(
    ("old", "new", "check", "says"),
    [
        pytest.param("int((x > 0).sum())", "(x > 0).sum()", "dtype", "count is a tensor; it must be an int", id="a tensor"),
        pytest.param("int((x > 0).sum())", "float((x > 0).sum())", "dtype", "count is the float 14.0; it must be an int", id="a float"),
        pytest.param("int((x > 0).sum())", "True", "dtype", "count is the bool True; it must be an int", id="a bool"),
        pytest.param("int((x > 0).sum())", "10 ** 9000", "dtype", "count is an int; it must be an int", id="an int that nobody wrote out"),
        pytest.param("int((x > 0).sum())", "None", "dtype", "count is None", id="nothing"),
        pytest.param("int((x > 0).sum())", "int((x < 0).sum())", "values", "count is 1; it must be 14", id="another int"),
        pytest.param('"minus"', '"Minus"', "values", "sign is 'Minus'; it must be 'minus'", id="another str"),
        pytest.param("x.mean() < 0", "sign_of.__dict__.setdefault('kept', x.mean() < 0)", "values", "sign is", id="the answer of another call"),
    ],
)  # fmt: skip
def test_outputs_that_are_no_tensors(
    grader: Grader, old: str, new: str, check: str, says: str
) -> None:
    """Ints and strings are compared exactly, and their types are."""
    source = pack_reader.solution(SIGNS)
    assert old in source
    failure = report_of(grader, SIGNS, source.replace(old, new), "signs.py", 3).first_failure()
    assert failure is not None
    assert failure.check == check
    assert re.search(says, failure.message), failure.message


@pytest.mark.parametrize(
    ("old", "new"),
    [
        pytest.param(
            "int((x > 0).sum())",
            "__import__('enum').IntEnum('Count', {'all': int((x > 0).sum())}).all",
            id="a member of an enumeration",
        ),
        pytest.param(
            '"minus"',
            "__import__('enum').StrEnum('Sign', ['minus']).minus",
            id="a member of an enumeration of strings",
        ),
    ],
)
def test_plain_outputs_of_a_subclass(grader: Grader, old: str, new: str) -> None:
    """What is an int or a string in Python is one here."""
    assert (
        report_of(
            grader, SIGNS, pack_reader.solution(SIGNS).replace(old, new), "signs.py", 3
        ).verdict
        == "passed"
    )


PREFIX_SUM = pack_reader.find_challenge(TINY_PACK, "prefix-sum")
MATRIX = "x @ torch.ones(x.shape[-1], x.shape[-1], dtype=x.dtype).triu()"


@pytest.mark.parametrize(
    "now",
    [
        pytest.param(f"return {MATRIX}", id="always"),
        pytest.param(
            f"return {MATRIX} if torch.is_grad_enabled() else torch.cumsum(x, dim=-1)",
            id="only with gradients",
        ),
        pytest.param(
            f"return torch.cumsum(x, dim=-1) if torch.is_grad_enabled() else {MATRIX}",
            id="only without",
        ),
        pytest.param(
            "grown = x.new_empty(0)\n    grown.resize_(x.shape[-1] ** 2)\n    return torch.cumsum(x, dim=-1)",
            id="a tensor that grows",
        ),
    ],
)
def test_memory_is_counted_on_every_way(grader: Grader, now: str) -> None:
    """With gradients and without, in fresh tensors and in such as grow."""
    source = pack_reader.solution(PREFIX_SUM).replace(
        "return torch.cumsum(x, dim=-1)\n", now + "\n"
    )
    assert now in source
    report = report_of(grader, PREFIX_SUM, source, "prefix_sum.py", 3)
    assert {check for check, status in report.statuses().items() if status == "failed"} == {
        "memory"
    }
    way = " (with gradients)" if "if torch.is_grad_enabled() else torch.cumsum" in now else ""
    assert (
        report.first_failure().message
        == f"the largest tensor made has 4,096 entries{way}; it must have fewer than 4,096"
    )


def test_a_gradient_must_arrive_in_bfloat16_too(grader: Grader) -> None:
    """Its values are not compared there; that there is one is."""
    report = grade(
        grader,
        ("v = self.v_proj(x)", "v = self.v_proj(x.detach() if x.dtype == torch.bfloat16 else x)"),
        ("k = self.k_proj(x)", "k = self.k_proj(x.detach() if x.dtype == torch.bfloat16 else x)"),
        ("q = self.q_proj(x)", "q = self.q_proj(x.detach() if x.dtype == torch.bfloat16 else x)"),
    )
    failure = report.first_failure()
    assert failure is not None
    assert (failure.check, failure.message) == ("gradients", "no gradient reaches x")


def test_dropout_draws_anew(grader: Grader) -> None:
    """A pattern that comes back in every call is no dropout."""
    report = grade(
        grader,
        (
            "weights = self.dropout(weights)",
            "with torch.random.fork_rng():\n            torch.manual_seed(7)\n            weights = self.dropout(weights)",
        ),
    )
    failure = report.first_failure()
    assert failure is not None
    assert "every call must draw anew" in failure.message


def test_one_look_sees_every_tensor(grader: Grader, monkeypatch: pytest.MonkeyPatch) -> None:
    """A right case is known to be right by one comparison; one entry that is off in any of its calls or gradients is found all the same."""
    case_set = grader.case_set(GQA, 5)
    found = grader.judge(case_set, Submission("gqa.py", SOLUTION)).comparison
    compared: list[str] = []
    monkeypatch.setattr(
        comparison,
        "compare_values",
        lambda name, *more: compared.append(name) or compare_values(name, *more),
    )
    Comparison(case_set, found.ended).compare_ahead()
    assert compared == []
    for number in (
        0,
        next(place for place, case in enumerate(case_set.cases) if case.dtype == "bfloat16"),
    ):
        told = found.reply.runs[number]
        calls = (
            told.outputs,
            told.outputs_with_gradients,
            told.outputs_once_more,
            told.outputs_again,
        )
        tensors = [returned.tensor for call in calls for returned in call.values()]
        prepared = case_set.prepared[number]
        if prepared.case.dtype != "bfloat16":  # whose gradients are only asked to arrive
            tensors += [told.gradients[name] for name in prepared.expected.gradients]
        assert len(tensors) == len(set(tensors)) >= 2
        for tensor in tensors:
            was = found.ended.tensors[tensor]
            for off in (2.0, math.nan):
                found.ended.tensors[tensor] = was.clone()
                found.ended.tensors[tensor].view(-1)[-1] += off
                other = Comparison(case_set, found.ended)
                assert not other._agrees(CaseResult(number, prepared, told))
            found.ended.tensors[tensor] = was


def test_a_layer_that_is_no_parameter_keeps_its_weights(grader: Grader) -> None:
    """A layer in a plain list has random weights, as it has everywhere: what it adds is wrong, and nothing makes it zero."""
    hidden = grade(
        grader,
        (
            "self.dropout = nn",
            "self.kept = [nn.Linear(d_model, d_model)]\n        self.dropout = nn",
        ),
        ("return self.o_proj(merged)", "return self.o_proj(merged) + self.kept[0].to(x.dtype)(x)"),
    )
    assert next(one.check for one in hidden.outcomes if one.status == "failed") == "values"


def test_a_check_with_a_part_that_was_not_looked_at_is_skipped() -> None:
    """A failed part counts most, then a skipped part; the checks come in their order."""
    said = [("runs", "failed"), ("shapes", "passed"), ("shapes", "skipped"), ("loads", "passed")]
    outcomes = tuple(Outcome(check, status) for check, status in said)  # type: ignore[arg-type]
    statuses = Report("gqa", "gqa.py", 1, "error", outcomes).statuses()
    assert list(statuses.items()) == [
        ("loads", "passed"),
        ("runs", "failed"),
        ("shapes", "skipped"),
    ]


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


@pytest.mark.parametrize("printed", ["", "print('mine')"])
def test_what_the_counters_print_is_not_shown(grader: Grader, printed: str) -> None:
    """In the case of a loop, whose calls are counted, the report shows what the learner's code prints and nothing of the profiler's."""
    challenge = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
    loop = f"{printed or 'pass'}\n        scores = torch.stack([head / math.sqrt(self.head_dim) for head in scores.unbind(1)], 1)"
    source = pack_reader.solution(challenge).replace(
        "scores = scores / math.sqrt(self.head_dim)", loop
    )
    report = report_of(grader, challenge, source, "gqa.py", 5)
    assert report.first_failure().check == "vectorised"
    assert report.stdout == ("mine\n" if printed else "")
