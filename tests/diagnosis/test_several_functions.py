"""Tests of the functions of a submission that are wrong."""

from attn_drill.diagnosis.several_functions import function_of, wrong_by_function
from attn_drill.grading.grader import Grader
from tests.support.diagnosis import CHALLENGES
from tests.support.judged import judged, with_mistakes


def test_wrong_cases_are_listed_by_function(grader: Grader) -> None:
    """Two mistakes in two functions leave the other functions right."""
    cost = CHALLENGES["attention_cost"]
    answer = judged(grader, cost, with_mistakes(cost, "keys-only", "no-output-projection"))
    assert set(wrong_by_function(answer.agreement)) == {"kv_cache_bytes", "attention_params"}


def test_challenge_of_one_callable_has_no_functions(grader: Grader) -> None:
    """Cases of a module name no function."""
    challenge = CHALLENGES["gqa"]
    answer = judged(grader, challenge, with_mistakes(challenge, "no-scale"))
    assert wrong_by_function(answer.agreement) == {}
    assert function_of(answer.agreement.case_set, 0) == ""
