"""The checks on results, with changed references of gqa and prefix sums."""

import re

import pytest

from attn_drill.grading.grader import Grader
from attn_drill.packs import pack_reader
from tests.support.grading import (
    assert_fails_first,
    failed_outcomes,
    grade,
    grade_prefix_sum,
    report_of,
)
from tests.support.rows import each_row

RETURN = "return self.o_proj(merged)"
SHAPE = "batch, length, d_model = x.shape"
SOFTMAX = "weights = torch.softmax(scores, dim=-1)"
DROPOUT = "weights = self.dropout(weights)"
DROPOUT_LAYER = "self.dropout = nn.Dropout(dropout)"

CHANGES_INPUT = f"""{SHAPE}
        if x.is_contiguous() and not x.requires_grad:
            x.neg_()
            x = -x"""
CACHED_BY_ADDRESS = f"""{SHAPE}
        self.cache = getattr(self, 'cache', {{}})
        key = x.data_ptr(), x.requires_grad
        x = self.cache.setdefault(key, x.clone() if not x.requires_grad else x)"""
ONE_BUFFER = """out = self.o_proj(merged)
        if torch.is_grad_enabled():
            return out
        if getattr(self, 'kept', None) is None or self.kept.shape != out.shape:
            self.kept = out.clone()
        self.kept.copy_(out)
        return self.kept"""
DETACHED_IN_CHECKPOINT = """detached = lambda merged: self.o_proj(merged).detach() + merged
        out = torch.utils.checkpoint.checkpoint(detached, merged, use_reentrant=True)
        return out - merged"""
DOUBLING_HOOK = f"""{DROPOUT_LAYER}
        self.v_proj.weight.register_hook(lambda gradient: 2 * gradient)"""


@pytest.mark.sampled(7)
@each_row(
    "old, new, check, says",
    {
        "expanded mask changed": (
            "masked_fill(~mask,",
            "masked_fill(mask.logical_not_(),",
            "runs",
            "an input is changed in place, and here several of its entries share memory",
        ),
        "no return": (RETURN, "self.o_proj(merged)", "shapes", "out is None"),
        "a tuple": (
            RETURN,
            f"{RETURN}, weights",
            "shapes",
            r"out is a tuple of 2: \(Tensor \[2, 5, 42\], Tensor \[2, 6, 5, 5\]\)",
        ),
        "transposed": (
            RETURN,
            f"{RETURN}.transpose(1, 2)",
            "shapes",
            r"transpose\(1, 2\) would give the right shape",
        ),
        "dtype": (
            RETURN,
            f"{RETURN}.float()",
            "dtype",
            "out has dtype float32; it must have float64",
        ),
        "device": (RETURN, f"{RETURN}.to('meta')", "dtype", "out has device meta"),
        "another factor": (RETURN, f"{RETURN} * 1.001", "values", "values of out differ"),
        "NaN": (
            RETURN,
            f"{RETURN} if self.training else torch.full_like(x, float('nan'))",
            "values",
            "values of out differ",
        ),
        "a soft mask": ('float("-inf")', "-150.0", "masks", "values of out differ"),
        "detached": (RETURN, f"{RETURN}.detach()", "gradients", "no gradient reaches x"),
        "scores detached": (
            SOFTMAX,
            "weights = torch.softmax(scores.detach(), dim=-1)",
            "gradients",
            "gradient of",
        ),
        "other values with gradients": (
            RETURN,
            f"{RETURN} * (1.01 if torch.is_grad_enabled() else 1)",
            "values",
            "values of out differ",
        ),
        "detached within a checkpoint": pytest.param(
            RETURN, DETACHED_IN_CHECKPOINT, "gradients", "gradient", marks=pytest.mark.thorough
        ),
        "a hook that doubles": (
            DROPOUT_LAYER,
            DOUBLING_HOOK,
            "gradients",
            "gradient of v_proj.weight",
        ),
        "no dropout": (DROPOUT, "", "train/eval", "nothing is dropped"),
        "not rescaled": (
            DROPOUT,
            f"{DROPOUT} * (1 - self.dropout.p if self.training else 1)",
            "train/eval",
            "divided by 1 - p",
        ),
        "no dropout after eval mode": (
            DROPOUT,
            f"if not self.training:\n            self.dropout.p = 0.0\n        {DROPOUT}",
            "train/eval",
            "after a call in eval mode, in training mode nothing is dropped",
        ),
        "dropout in eval mode after training": (
            DROPOUT,
            "self.acts = self.training or getattr(self, 'acts', False)\n"
            "        weights = nn.functional.dropout(weights, self.dropout.p, self.acts)",
            "train/eval",
            "in eval mode, after a call in training mode, ",
        ),
        "input changed": (SHAPE, CHANGES_INPUT, "properties", "the input x is changed in place"),
        "cached by address": (
            SHAPE,
            CACHED_BY_ADDRESS,
            "properties",
            "on a second call with new values",
        ),
        "weights of the first call": (
            "self.q_proj(x)",
            "nn.functional.linear(x, self.__dict__.setdefault('first', 1 * self.q_proj.weight))",
            "properties",
            "on a second call with new values and other weights",
        ),
        "one buffer for all results": (
            RETURN,
            ONE_BUFFER,
            "properties",
            "a second call changes out",
        ),
    },
)
def test_wrong_result_is_refused(grader: Grader, old: str, new: str, check: str, says: str) -> None:
    """The first failed check is the check for this mistake, and its message names the mistake."""
    assert_fails_first(grade(grader, (old, new)), check, says)


def test_different_values_look_different(grader: Grader) -> None:
    """The message shows as many digits as the difference needs."""
    source = (
        "def prefix_sum(x, reverse=False):\n"
        "    total = x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)\n"
        "    return total * 1.00001\n"
    )
    failure = grade_prefix_sum(grader, source, only=1).first_failure()
    found = re.search(r"it is (\S+) and must be (\S+)$", failure.message)
    assert found is not None, failure.message
    assert found[1] != found[2]


def test_gradient_must_also_arrive_in_bfloat16(grader: Grader) -> None:
    """In bfloat16 the values of gradients are not compared, but their presence is."""
    replacement = "x.detach() if x.dtype == torch.bfloat16 else x"
    changes = [
        (f"{name} = self.{name}_proj(x)", f"{name} = self.{name}_proj({replacement})")
        for name in ("q", "k", "v")
    ]
    failure = grade(grader, *changes).first_failure()
    assert (failure.check, failure.message) == ("gradients", "no gradient reaches x")


def test_dropout_must_draw_in_every_call(grader: Grader) -> None:
    """Dropout that drops equal weights in every call is refused."""
    fixed = (
        "with torch.random.fork_rng():\n"
        "            torch.manual_seed(7)\n"
        "            weights = self.dropout(weights)"
    )
    failure = grade(grader, (DROPOUT, fixed)).first_failure()
    assert "every call must draw new random numbers" in failure.message


SCALE = "scores = scores / math.sqrt(self.head_dim)"


@pytest.mark.parametrize(
    ("layer", "line", "changed"),
    [
        ("nn.Linear(d_model, d_model)", RETURN, f"{RETURN} + self.kept[0].to(x.dtype)(x)"),
        # The softmax hides whatever is equal for all keys.
        (
            "nn.Linear(self.head_dim, 512)",
            SCALE,
            f"{SCALE} + self.kept[0].to(x.dtype)(q)[..., :length]",
        ),
    ],
    ids=["added to the output", "added to the scores"],
)
def test_layer_outside_the_parameters_keeps_its_weights(
    grader: Grader, layer: str, line: str, changed: str
) -> None:
    """A layer in a plain list keeps random weights, so what it adds is wrong."""
    kept = f"self.kept = [{layer}]\n        self.dropout = nn"
    report = grade(grader, ("self.dropout = nn", kept), (line, changed))
    assert failed_outcomes(report)[0].check == "values"


@pytest.mark.sampled(3)
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
def test_input_changed_in_shape_or_kind_is_refused(grader: Grader, body: str) -> None:
    """A submission may set `requires_grad`, which loses nothing. All other changes are refused."""
    source = (
        "import torch\n"
        "def prefix_sum(x, reverse=False):\n"
        "    y = x.clone()\n"
        "    if not torch.is_grad_enabled():\n"
        f"        {body}\n"
        "    x = y\n"
        "    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)\n"
    )
    report = grade_prefix_sum(grader, source)
    if body == "x.requires_grad_()":
        assert report.verdict == "passed"
        return
    assert report.verdict == "failed"
    failure = report.first_failure()
    assert "the input x is changed in place" in failure.message


@pytest.mark.thorough
def test_state_changed_without_gradients_is_found(grader: Grader) -> None:
    """Only the second call of most cases has no gradients; its inputs must stay too."""
    challenge = pack_reader.find_challenge(pack_reader.built_in_pack(), "linear-attention")
    source = pack_reader.solution(challenge).replace("def linear_attention(", "def right(") + (
        "\n\ndef linear_attention(q, k, v, state=None):\n"
        "    out, (S, z) = right(q, k, v, state)\n"
        "    if state is not None and q.shape[2] == 1 and not torch.is_grad_enabled():\n"
        "        state[0].copy_(S)\n"
        "    return out, (S, z)\n"
    )
    failure = report_of(grader, challenge, source, "a.py", 1).first_failure()
    assert failure.check == "properties"
    assert failure.message == "the input state[0] is changed in place; work on a copy"


@pytest.mark.parametrize("kept", ["x", "x.clone()"])
def test_input_kept_from_an_earlier_call_is_found(grader: Grader, kept: str) -> None:
    """If a submission keeps an input, by reference or by value, a later call gives wrong values."""
    source = (
        "kept = {}\n"
        "def prefix_sum(x, reverse=False):\n"
        "    if not x.requires_grad:\n"
        f"        x = kept.setdefault((x.shape, x.dtype, reverse), {kept})\n"
        "    return x.flip(-1).cumsum(-1).flip(-1) if reverse else x.cumsum(-1)\n"
    )
    report = grade_prefix_sum(grader, source)
    assert report.verdict == "failed"
    failure = report.first_failure()
    assert re.search("on a (second|third) call", failure.message)
