"""Each check refuses what it alone is for, and says so; tables of refused and accepted submissions of gqa."""

import re

import pytest

from tests.support.checks import grade
from tests.support.grading import report_of
from tests.support.paths import TINY_PACK
from tests.support.running import grade_prefix_sum
from trainer.grading.grader import Grader
from trainer.packs import pack_reader


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
    report = grade_prefix_sum(grader, source)
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
    report = grade_prefix_sum(grader, source)
    assert report.verdict == "failed"
    failure = report.first_failure()
    assert failure is not None
    assert re.search("on a (second|third) call", failure.message)
