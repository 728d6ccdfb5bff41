"""Tests of the search for the single known mistake."""

import pytest

from attn_drill.grading.grader import Grader
from attn_drill.packs import pack_reader
from tests.support.diagnosis import CHALLENGES, diagnosed
from tests.support.grading import with_mistakes


@pytest.mark.sampled(5)
@pytest.mark.parametrize(
    ("folder", "was", "now", "named", "not_named"),
    [
        pytest.param(
            "gqa",
            '~mask, float("-inf")',
            "mask, -1e9",
            {"mask-inverted"},
            set(),
            id="another fill value and the mistake",
        ),
        pytest.param(
            "mha",
            "dropout=0.0",
            "dropout=0.1",
            set(),
            {"keys-detached", "d-model-not-checked"},
            id="a wrong default is no pair of mistakes that change no value",
        ),
        pytest.param(
            "mha_fused",
            "weights = self.dropout(weights)",
            "weights = self.dropout(weights); weights = weights / weights.sum(-1, keepdim=True)",
            set(),
            {"dropout-before-softmax"},
            id="normalised rows still have zeros",
        ),
        pytest.param(
            "mqa",
            "weights = self.dropout(weights)",
            "weights = weights if mask is None else self.dropout(weights)",
            set(),
            {"no-dropout"},
            id="dropout only without a mask",
        ),
        pytest.param(
            "mqa",
            "heads = weights @ v",
            "heads = torch.cat([weights[:, :, i : i + 1] @ v for i in range(length)], dim=2)",
            set(),
            {"loop-over-heads"},
            id="a loop over another axis",
        ),
    ],
)
def test_similar_mistake_is_not_named(
    grader: Grader, folder: str, was: str, now: str, named: set[str], not_named: set[str]
) -> None:
    """A mistake is named in any style. A mistake that only fails the same checks is not named."""
    challenge = CHALLENGES[folder]
    right = pack_reader.solution(challenge)
    assert right.count(was) == 1
    known = (challenge.solutions / "mistakes.toml").read_text()
    assert all(f'id = "{mistake}"' in known for mistake in named | not_named)
    _, found = diagnosed(grader, challenge, right.replace(was, now))
    ids = {mistake.id for mistake in found.mistakes}
    assert named <= ids
    assert not ids & not_named


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("result", "named"),
    [
        pytest.param("(weights @ v, weights)", {"weights-returned-too"}, id="a tuple"),
        pytest.param("[weights @ v, weights]", {"weights-returned-too"}, id="a list"),
        pytest.param("[weights @ v]", set(), id="a list of one"),
        pytest.param("None", set(), id="nothing"),
        pytest.param("torch.nn.functional.dropout(weights, 0.4) @ v", set(), id="other dropout"),
        pytest.param("torch.rand_like(weights @ v)", set(), id="noise"),
        pytest.param("torch.randn_like(weights @ v)", set(), id="noise around zero"),
        pytest.param("torch.rand(weights.shape) @ v.float()", set(), id="random weights"),
    ],
)
def test_mistake_is_named_only_for_its_own_result(
    grader: Grader, result: str, named: set[str]
) -> None:
    """Two results that are no tensors can differ. Other random draws show no mistake."""
    right = pack_reader.solution(CHALLENGES["sdpa"])
    source = right.replace("return weights @ v", f"return {result}")
    assert source != right
    _, found = diagnosed(grader, CHALLENGES["sdpa"], source)
    assert {mistake.id for mistake in found.mistakes} == named


@pytest.mark.parametrize(
    ("folder", "mistake", "was", "now"),
    [
        pytest.param(
            "mha",
            "no-dropout",
            "scores = q @ k.transpose(-2, -1)  # [B, H, Lq, Lk]\n"
            "        scores = scores / math.sqrt(self.head_dim)",
            "scores = (q / math.sqrt(self.head_dim)) @ k.transpose(-2, -1)",
            id="the gradient of k_proj.bias is zero but for rounding",
        ),
        pytest.param(
            "linear_attention",
            "features-without-plus-one",
            "phi_k = F.elu(k)",
            "phi_k = torch.where(k > 0, k, k.float().exp().to(k.dtype) - 1)",
            id="bfloat16 divides by sums near zero",
            marks=pytest.mark.thorough,
        ),
    ],
)
def test_mistake_is_named_although_rounding_differs(
    grader: Grader, folder: str, mistake: str, was: str, now: str
) -> None:
    """Another order of operations changes numbers that are only rounding."""
    challenge = CHALLENGES[folder]
    source = with_mistakes(challenge, mistake)
    assert source.count(was) == 1
    _, found = diagnosed(grader, challenge, source.replace(was, now))
    assert [each.id for each in found.mistakes] == [mistake]
