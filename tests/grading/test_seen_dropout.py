"""Each check refuses what it alone is for, and says so; tables of refused and accepted submissions of gqa."""

import pytest
import torch

from tests.support.checks import grade
from trainer.grading.grader import Grader
from trainer.packs import pack_reader

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
