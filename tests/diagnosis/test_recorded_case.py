"""The diagnosis: known mistakes made by hand are named, none wrongly, and the first wrong line is found."""

import pytest

from tests.support.diagnosis import CHALLENGES, diagnosed
from trainer.grading.grader import Grader
from trainer.packs import pack_reader

KEPT = """    global kept
    mask = kept.setdefault(None if mask is None else mask.shape, mask)
    scores = q @"""


@pytest.mark.parametrize(
    ("was", "now", "alone"),
    [
        pytest.param(
            "    scores = q @", KEPT, True, id="a mask kept from the first call of its shape"
        ),
        pytest.param("weights @ v", "(weights @ v).float()", False, id="float32 whatever comes"),
    ],
)
def test_right_alone(grader: Grader, was: str, now: str, alone: bool) -> None:
    """A case that is right where it runs alone has something of an earlier one; a result of the wrong dtype is not right alone."""
    challenge = CHALLENGES["sdpa"]
    right = pack_reader.solution(challenge)
    assert right.count(was) == 1
    _, found = diagnosed(grader, challenge, "kept = {}\n" + right.replace(was, now))
    assert (
        found.layout is not None and found.layout.startswith("alone this case is right")
    ) == alone


def test_what_a_constructor_leaves_for_all_is_kept_from_an_earlier_call(grader: Grader) -> None:
    """A number that the class keeps, and every new object overwrites: alone the case is right, and nothing that the diagnosis builds beside it changes that."""
    gqa = CHALLENGES["gqa"]
    source = pack_reader.solution(gqa).replace(
        "self.dropout = nn", "type(self).scale = self.head_dim**-0.5\n        self.dropout = nn"
    )
    found = diagnosed(
        grader,
        gqa,
        source.replace("scores / math.sqrt(self.head_dim)", "scores * type(self).scale"),
    )[1]
    assert found.layout is not None
    assert "kept from an earlier call" in found.layout
