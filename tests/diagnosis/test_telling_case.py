"""Tests of the choice of the most informative case."""

from attn_drill.diagnosis._telling_case import most_informative_case
from attn_drill.grading.grader import Grader
from tests.support.diagnosis import CHALLENGES
from tests.support.grading import Judged, judged, with_mistakes

SDPA = CHALLENGES["sdpa"]


def failed_cases(answer: Judged) -> list[int]:
    """Return the numbers, from 1, of the cases that fail the first failed check."""
    return [
        outcome.number
        for outcome in answer.judgement.report.outcomes
        if outcome.status == "failed" and outcome.check == answer.first.check
        if outcome.number is not None
    ]


def test_chosen_case_is_wrong_and_can_be_compared(grader: Grader) -> None:
    """A case in bfloat16, a growth probe or a case that raises cannot be compared.

    The report explains the chosen case, so the case fails the first failed check.
    """
    answer = judged(grader, SDPA, with_mistakes(SDPA, "mask-inverted"))
    wrong = answer.agreement.wrong_cases
    failed = failed_cases(answer)
    index = most_informative_case(answer.references, wrong, answer.first, failed)
    assert index in [observed.index for observed in wrong]
    assert index is not None
    assert index + 1 in failed
    case = answer.agreement.case_set.cases[index]
    assert case.dtype != "bfloat16"
    assert case.probe is None
    others = [
        observed.index
        for observed in wrong
        if observed.index != index
        and answer.agreement.case_set.cases[observed.index].dtype == "float32"
        and answer.agreement.case_set.cases[observed.index].probe is None
    ]
    assert others
    only = {others[-1] + 1}
    assert most_informative_case(answer.references, wrong, answer.first, only) == others[-1]
    # If no failed case can be compared, another wrong case is better than none.
    assert most_informative_case(answer.references, wrong, answer.first, {10**6}) is not None


def test_no_case_is_chosen_if_none_can_be_compared(grader: Grader) -> None:
    """An answer that raises in every case has no values to compare."""
    source = with_mistakes(SDPA).replace("return weights @ v", "raise RuntimeError")
    answer = judged(grader, SDPA, source)
    wrong = answer.agreement.wrong_cases
    assert wrong
    failed = failed_cases(answer)
    assert failed
    assert most_informative_case(answer.references, wrong, answer.first, failed) is None
