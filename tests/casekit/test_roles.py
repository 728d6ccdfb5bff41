"""Roles: inputs and weights with which a challenge has the designed scores."""

import pytest
import torch

from attn_drill.casekit import CaseMaker, Direct, Draw, Projected, Scores

SIZES = {"B": 2, "L": 5, "H": 4, "Hkv": 2, "D": 6, "M": 24}
FUNCTION = CaseMaker(
    Draw(1),
    inputs=dict.fromkeys("qkv", "B H L D"),
    outputs={"out": "B H L D"},
    roles=Direct(),
)


def module_maker(roles: Projected) -> CaseMaker:
    """Return a maker for a module with one input."""
    return CaseMaker(
        Draw(1), inputs={"x": "B L M"}, outputs={"out": "B L M"}, mask="B H L L", roles=roles
    )


def designed_scores(scores: Scores) -> torch.Tensor:
    """Return the scores [B, H, L, L] that `Scores` describes."""
    keys = scores.keys.expand(SIZES["B"], SIZES["L"])
    queries = torch.ones(SIZES["L"]) if scores.queries is None else scores.queries
    heads = scores.of_heads(SIZES["H"])
    return heads[:, None, None] * queries[:, None] * keys[:, None, None, :]


SCORES = [
    pytest.param(Scores(torch.linspace(200, -200, 5)), id="falling"),
    pytest.param(
        Scores(torch.linspace(200, -200, 5), (-1.0) ** torch.arange(5), alternating=True),
        id="alternating heads and queries",
    ),
]


@pytest.mark.parametrize("scores", SCORES)
def test_inputs_of_a_function_give_the_scores(scores: Scores) -> None:
    """The other features add about ±1."""
    inputs = Direct().scored(FUNCTION, SIZES, scores)["inputs"]
    actual = inputs["q"] @ inputs["k"].transpose(-2, -1) / SIZES["D"] ** 0.5
    assert float((actual - designed_scores(scores)).abs().max()) < 6


@pytest.mark.parametrize("scores", SCORES)
@pytest.mark.parametrize("fused", ["", "qkv_proj"])
def test_weights_of_a_module_give_the_scores(scores: Scores, fused: str) -> None:
    """Separate and fused projections, the first with fewer key/value heads."""
    roles = Projected(fused=fused, kv_heads="H" if fused else "Hkv")
    case = module_maker(roles)
    parts = roles.scored(case, SIZES, scores)
    x, parameters = parts["inputs"]["x"], parts["parameters"]
    if fused:
        q_weight, k_weight, _ = parameters["qkv_proj.weight"].chunk(3)
        assert not parameters["qkv_proj.bias"][: 2 * SIZES["M"]].any()
    else:
        q_weight, k_weight = parameters["q_proj.weight"], parameters["k_proj.weight"]
        assert not parameters["q_proj.bias"].any()
    q, k = (
        (x @ weight.double().T).unflatten(-1, (-1, SIZES["D"])).transpose(1, 2)
        for weight in (q_weight, k_weight)
    )
    k = k.repeat_interleave(SIZES["H"] // k.shape[1], dim=1)
    actual = q @ k.transpose(-2, -1) / SIZES["D"] ** 0.5
    assert float((actual - designed_scores(scores)).abs().max()) < 6


def test_huge_keys_have_values_of_1e36() -> None:
    """All other keys have small values, so a leak of any weight shows."""
    huge = torch.tensor([False, True, False, False, False])
    scores = Scores(torch.linspace(200, -200, 5), huge=huge)
    values = Direct().scored(FUNCTION, SIZES, scores)["inputs"]["v"]
    assert bool((values[..., 1, :] == 1e36).all())
    assert float(values[..., ~huge, :].abs().max()) < 1e-4


def test_module_without_bias_argument_has_no_switch() -> None:
    """The constructor gets `bias=False` only if it has the argument."""
    assert Projected(bias=True).without_biases() == {"init": {"bias": False}}
    assert Projected(bias=None).without_biases() == {}
    assert Direct().without_biases() == {}
