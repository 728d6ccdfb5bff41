"""Tests of the search for independent mistakes in several functions."""

from tests.support.diagnosis import CHALLENGES
from tests.support.judged import judged, with_mistakes
from trainer.diagnosis.several_functions import (
    function_of,
    mistakes_of_functions,
    wrong_by_function,
)
from trainer.grading.grader import Grader

COST = CHALLENGES["attention_cost"]
THREE = ("no-output-projection", "keys-only", "scores-of-kv-heads")


def test_three_mistakes_in_three_functions_are_found(grader: Grader) -> None:
    """The mistakes of all functions together explain all cases."""
    answer = judged(grader, COST, with_mistakes(COST, *THREE))
    assert set(mistakes_of_functions(answer.agreement)) == set(THREE)
    assert set(wrong_by_function(answer.agreement)) >= {
        "attention_params",
        "kv_cache_bytes",
        "attention_flops",
    }


def test_two_functions_are_left_to_the_search_for_pairs(grader: Grader) -> None:
    """The search needs three wrong functions."""
    answer = judged(grader, COST, with_mistakes(COST, "keys-only", "scores-of-kv-heads"))
    assert mistakes_of_functions(answer.agreement) == ()


def test_unknown_mistake_leaves_all_unnamed(grader: Grader) -> None:
    """If no known mistake explains a function, nothing is named."""
    source = with_mistakes(COST, *THREE).replace("kv_rank + rope_dim", "kv_rank * rope_dim + 1")
    answer = judged(grader, COST, source)
    assert mistakes_of_functions(answer.agreement) == ()


def test_challenge_of_one_callable_has_no_functions(grader: Grader) -> None:
    """Cases of a module name no function."""
    challenge = CHALLENGES["gqa"]
    answer = judged(grader, challenge, with_mistakes(challenge, "no-scale"))
    assert wrong_by_function(answer.agreement) == {}
    assert function_of(answer.agreement.case_set, 0) == ""
