"""Expected results of the reference, prepared cases, and dropout that was seen."""

import math
from dataclasses import replace
from pathlib import Path

import pytest
import torch

from attn_drill.grading import _reference
from attn_drill.grading._reference import Expected, Reference, ReplayedDropout, Value, kept_weights
from attn_drill.grading._tolerance import allowed, lower_dtype
from attn_drill.grading.case_set import load_case_set
from attn_drill.grading.grader import Grader
from attn_drill.model.challenge import Challenge
from attn_drill.model.errors import PackError
from attn_drill.packs import pack_reader
from attn_drill.worker.execution import build
from tests.support.grading import GQA, failed_outcomes, grade
from tests.support.rows import each_row

CHALLENGES = pack_reader.read_pack(pack_reader.built_in_pack())


def test_reference_is_built_twice_for_each_constructor(monkeypatch: pytest.MonkeyPatch) -> None:
    """Once in float64, for the parameters and the values, and once in a lower dtype."""
    built: list[torch.dtype] = []
    monkeypatch.setattr(
        _reference, "build", lambda *args, **more: built.append(args[4]) or build(*args, **more)
    )
    case_set = load_case_set(GQA, 2)
    case_set.expect()
    constructors = {
        (repr(sorted(case.init.items())), lower_dtype(case.dtype)) for case in case_set.cases
    }
    assert built.count(torch.float64) == len({arguments for arguments, _ in constructors})
    assert len(built) - built.count(torch.float64) == len(constructors) < len(case_set.cases)


@pytest.mark.thorough
@pytest.mark.sampled(12)
@pytest.mark.parametrize(
    "challenge",
    [challenge for challenge in CHALLENGES if challenge.kind == "module"],
    ids=lambda challenge: challenge.id,
)
def test_shared_modules_give_the_results_of_new_modules(
    challenge: Challenge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A module that several cases share leaves nothing behind from one case to the next."""
    shared = load_case_set(challenge, 3)
    found = shared.expect()
    monkeypatch.setattr(Reference, "build", Reference._build_anew)
    alone = load_case_set(challenge, 3).expect()
    for prepared, taken, wanted in zip(shared.prepared, found, alone, strict=True):
        for group in ("outputs", "second", "gradients"):
            values, expected = getattr(taken, group), getattr(wanted, group)
            assert values.keys() == expected.keys()
            for name, value in values.items():
                where = f"{prepared.case.name}: {group} {name}"
                assert torch.equal(value.value, expected[name].value), where
                assert value.lost == expected[name].lost, where
        assert taken.plain == wanted.plain


def test_plain_output_that_depends_on_rounding_is_an_error_of_the_pack(tiny_pack: Path) -> None:
    """If a lower dtype crosses a threshold, right answers would be refused."""
    path = tiny_pack / "solutions" / "signs" / "solution.py"
    path.write_text(path.read_text().replace("int((x > 0).sum())", "int(x.sum() * 10**6)"))
    with pytest.raises(PackError, match="rounding decides"):
        load_case_set(pack_reader.find_challenge(tiny_pack, "signs"), 3).expect()


def value(*entries: float) -> Value:
    """Return an expected value without rounding loss."""
    return Value(torch.tensor(entries, dtype=torch.float64), 0.0, "float32")


def test_zero_output_is_measured_by_the_other_outputs() -> None:
    """An output of zeros may have rounding if another output of the case is large."""
    zero, large = value(0.0, 0.0), value(3.0, -4.0)
    alone = Expected(outputs={"zero": zero}, second={})
    together = Expected(outputs={"zero": zero, "large": large}, second={})
    assert bool((alone.bounds["zero"] == 0).all())
    assert bool((together.bounds["zero"] > 0).all())
    assert torch.equal(together.bounds["large"], allowed(large.value, "float32", 0.0))


def test_gradients_are_measured_by_the_largest_gradient() -> None:
    """The absolute part of the bound is the same for all gradients of a case."""
    gradients = {"x": value(1e-9), "weight": value(-5.0)}
    expected = Expected(outputs={"out": value(1.0)}, second={}, gradients=gradients)
    assert expected.gradient_scale == 5.0
    assert torch.equal(
        expected.gradient_bounds["x"], allowed(gradients["x"].value, "float32", 0.0, 5.0)
    )


def test_only_floating_inputs_get_gradients(grader: Grader) -> None:
    """Masks get no gradients. Cases that compare no gradients have no such inputs."""
    for prepared in grader.case_set(GQA, 5).prepared:
        expected = ["x"] if prepared.cotangents else []
        names = [name for name in prepared.differentiable if not name.startswith("later_")]
        assert names == expected, prepared.case.name


def test_largest_number_includes_weights_and_ignores_nan(grader: Grader) -> None:
    """An infinite value counts as infinite."""
    prepared = grader.case_set(GQA, 5).prepared[0]
    x = torch.zeros_like(prepared.inputs["x"])
    weights = {"weight": torch.full((2, 2), -7.0)}
    inputs = {"x": x, "mask": None}
    assert replace(prepared, inputs=inputs, parameters=weights).largest_number == 7.0
    with_nan = {"x": torch.full_like(x, math.nan), "mask": None}
    assert replace(prepared, inputs=with_nan, parameters=weights).largest_number == 7.0
    infinite = {"x": torch.full_like(x, -math.inf), "mask": None}
    assert replace(prepared, inputs=infinite, parameters=weights).largest_number == math.inf


# Hand-written dropout on the weights, in place of `self.dropout(weights)`.
KEEP = "(torch.rand_like(weights) >= self.dropout.p)"
PASSED = "(1 - self.dropout.p)"
IF_TRAINING = "if self.training and self.dropout.p > 0:\n            "
IN_NO_GRAD = f"with torch.no_grad():\n                weights = weights * {KEEP} / {PASSED}"
STRAIGHT_THROUGH = f"weights = weights + (weights * {KEEP} / {PASSED} - weights).detach()"
SCALED_FORWARD_ONLY = (
    f"weights = weights * {KEEP}\n"
    f"            weights = weights + (weights / {PASSED} - weights).detach()"
)
BERNOULLI = f"torch.bernoulli(torch.full_like(weights, 1 - self.dropout.p)).div{PASSED}"
OWN_FUNCTION = "weights = Own.apply(weights, self.dropout.p) if self.training else weights"
OWN_CLASS = """class Own(torch.autograd.Function):
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
RIGHT_BACKWARD = "gradient * keep / (1 - ctx.p)"
NEW_DRAW = "gradient * (torch.rand_like(gradient) >= ctx.p) / (1 - ctx.p)"


def changes(line: str, backward: str) -> tuple[tuple[str, str], tuple[str, str]]:
    """Return changes for dropout by a line of `forward` and the backward pass of `Own`."""
    own_class = OWN_CLASS.replace("BACKWARD", backward)
    return ("weights = self.dropout(weights)", line), ("class Grouped", own_class)


@pytest.mark.sampled(4)
@each_row(
    "line",
    {
        "F.dropout": "weights = nn.functional.dropout(weights, self.dropout.p, self.training)",
        "a mask of zeros and ones": f"{IF_TRAINING}weights = weights * {KEEP} / {PASSED}",
        "bernoulli": f"{IF_TRAINING}weights = weights * {BERNOULLI}",
        "masked_fill": f"{IF_TRAINING}weights = weights.masked_fill(~{KEEP}, 0.0) / {PASSED}",
        "an autograd function": OWN_FUNCTION,
    },
)
def test_right_dropout_passes(grader: Grader, line: str) -> None:
    """The gradient has the same entries dropped and scaled as the output."""
    report = grade(grader, *changes(line, RIGHT_BACKWARD))
    assert report.verdict == "passed", report.first_failure()


@pytest.mark.thorough
@pytest.mark.sampled(4)
@each_row(
    "line, backward",
    {
        "data": (f"{IF_TRAINING}weights.data = weights.data * {KEEP} / {PASSED}", RIGHT_BACKWARD),
        "no_grad": (IF_TRAINING + IN_NO_GRAD, RIGHT_BACKWARD),
        "straight through": (IF_TRAINING + STRAIGHT_THROUGH, RIGHT_BACKWARD),
        "scaled in the forward pass only": (IF_TRAINING + SCALED_FORWARD_ONLY, RIGHT_BACKWARD),
        "not scaled in the backward pass": (OWN_FUNCTION, "gradient * keep"),
        "a new draw in the backward pass": (OWN_FUNCTION, NEW_DRAW),
        "no dropout in the backward pass": (OWN_FUNCTION, "gradient"),
    },
)
def test_wrong_backward_pass_is_refused(grader: Grader, line: str, backward: str) -> None:
    """The forward pass of these submissions is right."""
    failed = failed_outcomes(grade(grader, *changes(line, backward)))
    assert "train/eval" in {outcome.check for outcome in failed}
    advice = "must drop and scale the same entries"
    assert any(advice in outcome.message for outcome in failed), failed


@pytest.mark.parametrize("challenge_id", ["mha", "mha-fused", "mqa", "gqa", "rope-mha"])
def test_gradients_depend_on_the_dropped_weights(grader: Grader, challenge_id: str) -> None:
    """All cases with dropout have gradients, and these change with the dropped weights."""
    challenge = pack_reader.find_challenge(pack_reader.built_in_pack(), challenge_id)
    case_set = grader.case_set(challenge, 3)
    with_dropout = [prepared for prepared in case_set.prepared if prepared.case.dropout is not None]
    assert with_dropout
    for prepared in with_dropout:
        (name,) = prepared.case.dims
        weights = prepared.expected.outputs[name].value
        half = weights.clone()
        half[..., ::2] = 0
        gradients_under = prepared.reference.gradients_under
        all_kept = gradients_under(prepared, name, weights)
        half_kept = gradients_under(prepared, name, half)
        (value,) = {"v_proj.weight", "qkv_proj.weight"} & half_kept.gradients.keys()
        gradients = (all_kept.gradients[value].value, half_kept.gradients[value].value)
        assert not torch.allclose(*gradients)


def test_kept_weights_have_all_orders_of_dimensions() -> None:
    """The key is always the last dimension, and [B, H, Lq, Lk] comes first."""
    weights = torch.rand(2, 3, 4, 5, dtype=torch.float64) + 0.1  # [B, Lq, H, Lk]
    dropped = torch.rand(2, 3, 4, 5) < 0.5
    actual = weights.masked_fill(dropped, 0.0) * 2
    sizes = {"B": 2, "Lq": 3, "H": 4, "Lk": 5}
    kept = kept_weights("B Lq (H Lk)", sizes, weights.flatten(2), actual.flatten(2))
    assert next(iter(kept)) == "B H Lq Lk"
    assert len(kept) == 6
    assert torch.equal(kept["B H Lq Lk"], ~dropped.transpose(1, 2))
    assert torch.equal(kept["Lq B H Lk"], ~dropped.permute(1, 0, 2, 3))


def test_replayed_dropout_keeps_the_given_weights() -> None:
    """Dropout on a tensor of another shape stays random."""
    keep = torch.tensor([[True, False, True], [False, True, True]])
    with ReplayedDropout({"L K": keep}, 0.5) as mode:
        dropped = torch.nn.functional.dropout(torch.ones(1, 2, 3), 0.5)
        torch.nn.functional.dropout(torch.ones(7), 0.5)
    assert torch.equal(dropped, 2.0 * keep[None])
    assert mode.calls == 1
