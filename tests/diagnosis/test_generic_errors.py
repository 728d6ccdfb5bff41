"""Tests of general errors that no pack lists."""

import pytest

from attn_drill.grading.grader import Grader
from attn_drill.packs import pack_reader
from tests.support.diagnosis import CHALLENGES, diagnosed


@pytest.mark.sampled(4)
@pytest.mark.parametrize(
    ("now", "words"),
    [
        pytest.param(
            "nn.functional.linear(x, self.q_proj.weight)",
            "this is the output you get without the bias of q_proj",
            id="without a bias",
        ),
        pytest.param(
            "nn.functional.linear(x, self.q_proj.weight.t(), self.q_proj.bias)",
            "this is the output you get if the weight of q_proj is transposed",
            id="transposed",
        ),
        pytest.param("x", "this is the output you get without q_proj", id="without a layer"),
        pytest.param("self.q_proj(x).tanh()", None, id="no general error"),
    ],
)
def test_general_error_is_found_without_a_known_mistake(
    grader: Grader, now: str, words: str | None
) -> None:
    """Missing layers and biases and transposed weights are found, though no pack lists them."""
    challenge = CHALLENGES["gqa"]
    right = pack_reader.solution(challenge)
    assert right.count("self.q_proj(x)") == 1
    _, found = diagnosed(grader, challenge, right.replace("self.q_proj(x)", now))
    assert found.mistakes == ()
    assert found.layout == words


@pytest.mark.thorough
def test_swapped_inputs_are_found_in_every_call(grader: Grader) -> None:
    """Inputs of a second call are swapped too. A tensor that is given twice stays as it is."""
    challenge = CHALLENGES["mha"]
    right = pack_reader.solution(challenge)
    for was in ("self.k_proj(key)", "self.v_proj(value)"):
        assert right.count(was) == 1
    swapped = right.replace("self.k_proj(key)", "self.k_proj(value)")
    swapped = swapped.replace("self.v_proj(value)", "self.v_proj(key)")
    assert swapped.count("_proj(") == right.count("_proj(")
    _, found = diagnosed(grader, challenge, swapped)
    assert found.mistakes == ()
    assert found.layout == "this is the output you get if key and value are swapped"


@pytest.mark.thorough
def test_exchanged_true_and_false_are_found(grader: Grader) -> None:
    """A single function that returns the opposite mask is enough. A partly wrong mask is not."""
    challenge = CHALLENGES["masks"]
    right = pack_reader.solution(challenge)
    was = "return visible[None, None]"
    assert right.count(was) == 1
    _, found = diagnosed(grader, challenge, right.replace(was, "return ~visible[None, None]"))
    named = [mistake.id for mistake in found.mistakes]
    assert named == ["causal-inverted"] or "True and False are exchanged" in (found.layout or "")
    _, found = diagnosed(grader, challenge, right.replace(was, "return visible[None, None].mT"))
    assert "exchanged" not in (found.layout or "")
