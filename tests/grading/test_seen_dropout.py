"""The reference's gradients with the same weights dropped as in a submission."""

import pytest
import torch

from attn_drill.grading._reference import ReplayedDropout, kept_weights
from attn_drill.grading.grader import Grader
from attn_drill.packs import pack_reader
from tests.support.checks import failed_outcomes, grade

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
@pytest.mark.parametrize(
    "line",
    [
        pytest.param(
            "weights = nn.functional.dropout(weights, self.dropout.p, self.training)",
            id="F.dropout",
        ),
        pytest.param(
            f"{IF_TRAINING}weights = weights * {KEEP} / {PASSED}", id="a mask of zeros and ones"
        ),
        pytest.param(f"{IF_TRAINING}weights = weights * {BERNOULLI}", id="bernoulli"),
        pytest.param(
            f"{IF_TRAINING}weights = weights.masked_fill(~{KEEP}, 0.0) / {PASSED}",
            id="masked_fill",
        ),
        pytest.param(OWN_FUNCTION, id="an autograd function"),
    ],
)
def test_right_dropout_passes(grader: Grader, line: str) -> None:
    """The gradient has the same entries dropped and scaled as the output."""
    report = grade(grader, *changes(line, RIGHT_BACKWARD))
    assert report.verdict == "passed", report.first_failure()


@pytest.mark.thorough
@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("line", "backward"),
    [
        pytest.param(
            f"{IF_TRAINING}weights.data = weights.data * {KEEP} / {PASSED}",
            RIGHT_BACKWARD,
            id="data",
        ),
        pytest.param(IF_TRAINING + IN_NO_GRAD, RIGHT_BACKWARD, id="no_grad"),
        pytest.param(IF_TRAINING + STRAIGHT_THROUGH, RIGHT_BACKWARD, id="straight through"),
        pytest.param(
            IF_TRAINING + SCALED_FORWARD_ONLY,
            RIGHT_BACKWARD,
            id="scaled in the forward pass only",
        ),
        pytest.param(OWN_FUNCTION, "gradient * keep", id="not scaled in the backward pass"),
        pytest.param(OWN_FUNCTION, NEW_DRAW, id="a new draw in the backward pass"),
        pytest.param(OWN_FUNCTION, "gradient", id="no dropout in the backward pass"),
    ],
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
        assert all_kept is not None
        assert half_kept is not None
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
