"""The diagnosis: known mistakes made by hand are named, none wrongly, and the first wrong line is found."""

import pytest

from tests.support.diagnosis import CHALLENGES, diagnosed
from trainer.grading.grader import Grader
from trainer.packs import pack_reader


@pytest.mark.parametrize(
    ("folder", "was", "now", "told", "not_told"),
    [
        pytest.param(
            "gqa",
            '~mask, float("-inf")',
            "mask, -1e9",
            {"mask-inverted"},
            set(),
            id="another fill beside the mistake",
        ),
        pytest.param(
            "mha",
            "dropout=0.0",
            "dropout=0.1",
            set(),
            {"keys-detached", "d-model-not-checked"},
            id="a wrong default is no pair of what changes no value",
        ),
        pytest.param(
            "mha_fused",
            "weights = self.dropout(weights)",
            "weights = self.dropout(weights); weights = weights / weights.sum(-1, keepdim=True)",
            set(),
            {"dropout-before-softmax"},
            id="rows that sum to one again have zeros",
        ),
        pytest.param(
            "mqa",
            "weights = self.dropout(weights)",
            "weights = weights if mask is None else self.dropout(weights)",
            set(),
            {"no-dropout"},
            id="dropout in one case of two",
        ),
        pytest.param(
            "mqa",
            "heads = weights @ v",
            "heads = torch.cat([weights[:, :, i : i + 1] @ v for i in range(length)], dim=2)",
            set(),
            {"loop-over-heads"},
            id="a loop over something else",
        ),
    ],
)
def test_names_of_what_is_nearly_a_known_mistake(
    grader: Grader, folder: str, was: str, now: str, told: set[str], not_told: set[str]
) -> None:
    """A mistake is named in whatever style; what only fails the same checks is another."""
    challenge = CHALLENGES[folder]
    right = pack_reader.solution(challenge)
    assert right.count(was) == 1
    known = (challenge.solutions / "mistakes.toml").read_text()
    assert all(f'id = "{one}"' in known for one in told | not_told)
    _, found = diagnosed(grader, challenge, right.replace(was, now))
    named = {one.id for one in found.mistakes}
    assert told <= named
    assert not named & not_told
