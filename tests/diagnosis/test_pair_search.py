"""Tests of the search for two known mistakes."""

from attn_drill.diagnosis._mistake_search import find_pair
from attn_drill.grading.grader import Grader
from tests.support.diagnosis import CHALLENGES
from tests.support.grading import judged, with_mistakes

SDPA = CHALLENGES["sdpa"]
PAIR = ("no-scale", "mask-inverted")


def test_two_mistakes_are_found_among_all(grader: Grader) -> None:
    """Neither mistake alone explains the answer."""
    agreement = judged(grader, SDPA, with_mistakes(SDPA, *PAIR)).agreement
    assert not any(agreement.agrees((mistake,)) for mistake in PAIR)
    assert set(find_pair(agreement, 10)) == set(PAIR)


def test_pair_is_not_found_for_an_unknown_mistake(grader: Grader) -> None:
    """The weights go through a tanh, which no known mistake does."""
    source = with_mistakes(SDPA).replace("return weights @ v", "return weights.tanh() @ v")
    agreement = judged(grader, SDPA, source).agreement
    assert find_pair(agreement, 10) == ()


def test_search_ends_if_the_reference_is_too_large(grader: Grader) -> None:
    """No pair is tried if a single run of the reference exceeds the limit of operations."""
    agreement = judged(grader, SDPA, with_mistakes(SDPA, *PAIR)).agreement
    assert find_pair(agreement, 100_000) == ()
