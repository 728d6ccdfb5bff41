"""Tests of the search for the line to blame."""

import pytest

from tests.support.diagnosis import CHALLENGES
from tests.support.judged import judged, with_mistakes
from trainer.diagnosis.locate import Locator
from trainer.grading.grader import Grader

SDPA = CHALLENGES["sdpa"]


@pytest.mark.parametrize(
    ("mistake", "text"),
    [
        ("keys-detached", ".detach()"),
        ("mask-changed-in-place", "mask"),
        ("loop-over-queries", "for "),
    ],
)
def test_line_of_a_failure_that_is_not_a_wrong_value(
    grader: Grader, mistake: str, text: str
) -> None:
    """The line cuts gradients, writes into an input, or is a Python loop."""
    answer = judged(grader, SDPA, with_mistakes(SDPA, mistake))
    location = Locator(
        answer.references, answer.judgement, answer.reruns
    ).location_of_other_failure()
    assert location.frame is not None
    assert text in location.frame.text
    assert location.case == answer.first.number


def test_line_of_a_refused_size_is_the_first_division(grader: Grader) -> None:
    """The constructor must refuse bad sizes before it divides."""
    challenge = CHALLENGES["mha"]
    answer = judged(grader, challenge, with_mistakes(challenge, "d-model-not-checked"))
    assert answer.first.check == "bad sizes"
    location = Locator(
        answer.references, answer.judgement, answer.reruns
    ).location_of_other_failure()
    assert location.frame is not None
    assert "//" in location.frame.text
