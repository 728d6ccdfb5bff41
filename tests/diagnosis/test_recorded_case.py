"""Tests of the recorded run of a single case."""

import pytest

from attn_drill.grading.grader import Grader
from attn_drill.packs import pack_reader
from tests.support.diagnosis import CHALLENGES, diagnosed

KEEPS_MASK = """    global kept
    mask = kept.setdefault(None if mask is None else mask.shape, mask)
    scores = q @"""


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    ("was", "now", "alone"),
    [
        pytest.param(
            "    scores = q @", KEEPS_MASK, True, id="a mask kept from the first call of its shape"
        ),
        pytest.param("weights @ v", "(weights @ v).float()", False, id="float32 for every input"),
    ],
)
def test_case_that_is_right_alone_keeps_state(
    grader: Grader, was: str, now: str, alone: bool
) -> None:
    """A case that is right only if it runs alone uses state of an earlier case."""
    challenge = CHALLENGES["sdpa"]
    right = pack_reader.solution(challenge)
    assert right.count(was) == 1
    _, found = diagnosed(grader, challenge, "kept = {}\n" + right.replace(was, now))
    words = "this case is right if it runs alone"
    assert (found.layout is not None and found.layout.startswith(words)) == alone


@pytest.mark.thorough
def test_class_attribute_that_every_constructor_overwrites_is_kept_state(grader: Grader) -> None:
    """The case is right alone, although the diagnosis builds other objects in the meantime."""
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
    assert "keeps something from an earlier call" in found.layout
