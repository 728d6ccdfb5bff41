"""Tests of the comparison of a submission with patched references."""

from dataclasses import replace

import pytest

from attn_drill.diagnosis._behaviour import in_any_order
from attn_drill.grading.grader import Grader
from tests.support.diagnosis import CHALLENGES
from tests.support.grading import Judged, judged, with_mistakes

SDPA = CHALLENGES["sdpa"]


@pytest.fixture(scope="module")
def unscaled(grader: Grader) -> Judged:
    """Judge an answer without the scale, written in another style."""
    source = with_mistakes(SDPA).replace("scores = scores / math.sqrt(head_dim)", "scores *= 1.0")
    return judged(grader, SDPA, source)


def test_only_the_true_mistake_agrees_with_all_cases(unscaled: Judged) -> None:
    """Another mistake of the scale disagrees."""
    agreement = unscaled.agreement
    assert agreement.has_wrong_values
    assert agreement.agrees(("no-scale",))
    assert not agreement.agrees(("scale-multiplied",))
    assert not agreement.agrees(())


def test_reference_is_right_in_every_case(unscaled: Judged) -> None:
    """A mistake of the mask is right in a case without a mask, and wrong in a masked case."""
    cases = unscaled.agreement.case_set.cases
    masked, unmasked = (
        next(i for i, case in enumerate(cases) if (case.inputs.get("mask") is not None) == wanted)
        for wanted in (True, False)
    )
    assert unscaled.agreement.is_right((), masked)
    assert unscaled.agreement.is_right(("mask-ignored",), unmasked)
    assert not unscaled.agreement.is_right(("mask-inverted",), masked)


def test_mistakes_raise_the_exceptions_of_the_submission(grader: Grader) -> None:
    """An answer for four dims raises in all other cases, as the known mistake does."""
    agreement = judged(grader, SDPA, with_mistakes(SDPA, "four-dims-expected")).agreement
    assert agreement.raises_the_same(("four-dims-expected",))
    assert not agreement.raises_the_same(("no-scale",))


def test_operands_of_an_exception_may_be_in_another_order(grader: Grader) -> None:
    """The words and the numbers of a message must be the same, but not their order."""
    source = with_mistakes(SDPA, "four-dims-expected")
    agreement = judged(grader, SDPA, source).agreement
    observed = agreement.wrong_cases[0].behaviour
    assert observed.failure is not None
    message = "RuntimeError: size {} is not {} at dimension 1"
    first, second, other = (
        replace(observed, failure=message.format(*sizes)) for sizes in ((4, 7), (7, 4), (7, 5))
    )
    assert in_any_order(first) == in_any_order(second) != in_any_order(other)
    assert in_any_order(None) is None
