"""The diagnosis: known mistakes made by hand are named, none wrongly, and the first wrong line is found."""

import pytest

from tests.support.diagnosis import CHALLENGES, diagnosed
from trainer.grading.grader import Grader
from trainer.packs import pack_reader


@pytest.mark.parametrize(
    ("now", "words"),
    [
        pytest.param(
            "nn.functional.linear(x, self.q_proj.weight)",
            "this is the output you get without the bias of q_proj",
            id="a bias left out",
        ),
        pytest.param(
            "nn.functional.linear(x, self.q_proj.weight.t(), self.q_proj.bias)",
            "this is the output you get if the weight of q_proj is transposed",
            id="transposed",
        ),
        pytest.param("x", "this is the output you get without q_proj", id="a layer left out"),
        pytest.param("self.q_proj(x).tanh()", None, id="nothing of the kind"),
    ],
)
def test_what_no_patch_describes(grader: Grader, now: str, words: str | None) -> None:
    """Layers and biases left out, weights transposed: told wherever there are weights, though the bank holds nothing of the kind."""
    challenge = CHALLENGES["gqa"]
    right = pack_reader.solution(challenge)
    assert right.count("self.q_proj(x)") == 1
    _, found = diagnosed(grader, challenge, right.replace("self.q_proj(x)", now))
    assert found.mistakes == ()
    assert found.layout == words
