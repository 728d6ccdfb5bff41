"""Tests of the choice of the most informative case."""

from tests.support.diagnosis import CHALLENGES
from tests.support.judged import judged, with_mistakes
from trainer.diagnosis.telling_case import most_informative_case
from trainer.grading.grader import Grader

SDPA = CHALLENGES["sdpa"]


def test_chosen_case_is_wrong_and_can_be_compared(grader: Grader) -> None:
    """A case in bfloat16, a growth probe or a case that raises cannot be compared."""
    answer = judged(grader, SDPA, with_mistakes(SDPA, "mask-inverted"))
    wrong = answer.agreement.wrong_cases
    index = most_informative_case(answer.references, wrong, answer.first)
    assert index in [observed.index for observed in wrong]
    assert index is not None
    case = answer.agreement.case_set.cases[index]
    assert case.dtype != "bfloat16"
    assert case.probe is None


def test_no_case_is_chosen_if_none_can_be_compared(grader: Grader) -> None:
    """An answer that raises in every case has no values to compare."""
    source = with_mistakes(SDPA).replace("return weights @ v", "raise RuntimeError")
    answer = judged(grader, SDPA, source)
    wrong = answer.agreement.wrong_cases
    assert wrong
    assert most_informative_case(answer.references, wrong, answer.first) is None
