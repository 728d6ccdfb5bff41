"""Tests of references with gaps."""

import ast
from random import Random

import pytest

from tests.support.quiz import CHALLENGES
from trainer.hunt.planted_mistakes import strip_comments
from trainer.model.challenge import Challenge, Mistake
from trainer.packs import pack_reader
from trainer.quiz.gaps import FEWEST, MOST, Gap, GapExercise, draw_gaps, gaps_in, judge_gap, rating

GAP = Gap(
    "____1",
    "k.repeat_interleave(group_size, dim=1)",
    "k = ____1",
    "k = k.repeat_interleave(group_size, dim=1)",
    (("k.repeat(1, group_size, 1, 1)", "The heads are tiled."),),
)
SMALL = '''"""A small reference."""

import math


class Small(nn.Module):
    """A small reference."""

    def __init__(self, d):
        self.d = d

    def forward(self, q, k, v, mask, group_size):
        d = self.d
        k = k.repeat_interleave(group_size, dim=1)
        v = v.repeat_interleave(group_size, dim=1)
        scores = q @ k.transpose(-2, -1)
        scores = scores / math.sqrt(d)  # the scale
        scores = scores.masked_fill(~mask, float("-inf"))
        return torch.softmax(scores, dim=-1) @ v
'''
MISTAKES = [
    Mistake(str(number), was, now, says, "")
    for number, (was, now, says) in enumerate(
        [
            ("k = k.repeat_interleave(group_size, dim=1)", "k = k.repeat(1, 2, 1, 1)", "Tiled."),
            ("math.sqrt(d)", "d", "It is divided by d."),
            ("scores = scores / math.sqrt(d)  # the scale", "", "There is no scale."),
            ("~mask", "mask", "It masks the wrong keys."),
            ("dim=-1", "dim=-2", "The softmax is over the queries."),
        ]
    )
]


def small(seed: int) -> GapExercise:
    """Return an exercise of the small reference."""
    exercise = gaps_in(SMALL, MISTAKES, Random(seed))
    assert exercise is not None
    return exercise


def drawn(challenge: Challenge, seed: int) -> GapExercise:
    """Return the exercise of a challenge that has enough places for gaps."""
    exercise = draw_gaps(challenge, Random(seed))
    assert exercise is not None
    return exercise


@pytest.mark.sampled(24)
@pytest.mark.parametrize("challenge", CHALLENGES, ids=lambda challenge: challenge.id)
def test_every_challenge_has_gaps(challenge: Challenge) -> None:
    """Each gap is on another line. The code is right again if the gaps are filled.

    The code of the reference is judged as right, and known mistakes as wrong.
    """
    exercise = drawn(challenge, 1)
    assert FEWEST <= len(exercise.gaps) <= MOST
    assert [gap.name for gap in exercise.gaps] == [
        f"____{number}" for number in range(1, len(exercise.gaps) + 1)
    ]
    assert "#" not in exercise.code
    reference = strip_comments(pack_reader.solution(challenge))
    lines = [line.strip() for line in exercise.code.splitlines()]
    for gap in exercise.gaps:
        assert lines.count(gap.line) == 1
        filled = gap.line.replace(gap.name, gap.right)
        assert "____" in filled or filled in reference
        assert judge_gap(gap, gap.right).verdict == "right"
        assert judge_gap(gap, gap.whole or gap.right).verdict == "right"
        for code, says in gap.mistakes:
            judged = judge_gap(gap, code)
            assert (judged.verdict, bool(judged.message)) == ("wrong", bool(says)), code
    assert any(gap.mistakes for gap in exercise.gaps)


def test_code_that_shows_an_answer_is_hidden() -> None:
    """Keys and values are repeated in the same way, so the values have a gap without a number."""
    for seed in range(20):
        exercise = small(seed)
        if any("repeat_interleave" in gap.right for gap in exercise.gaps):
            assert "repeat_interleave" not in exercise.code
            assert exercise.hides_more
            assert "v = ____\n" in exercise.code
            return
    raise AssertionError("no seed has this gap")


def test_equal_seeds_give_equal_gaps() -> None:
    """Other seeds give other gaps."""
    assert small(1) == small(1)
    assert len({small(seed).code for seed in range(8)}) > 1


def test_code_is_cut_to_the_functions_with_gaps() -> None:
    """The head of a class stays. The exercise is Python."""
    for seed in range(8):
        code = small(seed).code
        assert code.startswith('class Small(nn.Module):\n    """A small reference."""\n\n')
        assert "__init__" not in code
        assert "import" not in code
        ast.parse(code)


def test_known_mistake_elsewhere_in_the_gap_is_wrong() -> None:
    """The mistake is a part of the expression in the gap."""
    for seed in range(20):
        for gap in small(seed).gaps:
            if gap.right == "scores / math.sqrt(d)":
                judged = judge_gap(gap, "scores / d")
                assert (judged.verdict, judged.message) == ("wrong", "It is divided by d.")
                assert judge_gap(gap, "scores * d**-0.5").verdict == "undecided"
                return
    raise AssertionError("no seed has this gap")


def test_reference_with_two_places_has_no_gaps() -> None:
    """Two gaps would say too little."""
    assert gaps_in(SMALL, MISTAKES[:2], Random(1)) is None
    assert gaps_in(SMALL, (), Random(1)) is None


@pytest.mark.parametrize(
    ("given", "verdict"),
    [
        ("k.repeat_interleave( group_size, dim = 1 )", "right"),
        ("`k.repeat_interleave(group_size, dim=1)`", "right"),
        ("k = k.repeat_interleave(group_size, dim=1)", "right"),
        ("keys = k.repeat_interleave(group_size, dim=1)", "right"),
        ("k.repeat(1, group_size, 1, 1)  # tiled", "wrong"),
        ("?", "wrong"),
        ("torch.repeat_interleave(k, group_size, 1)", "undecided"),
        ("k", "undecided"),
        ("", "not understood"),
        ("k.", "not understood"),
        ("k; v", "not understood"),
        ("pass", "not understood"),
        ("return", "not understood"),
        ("k" * 1000, "not understood"),
        ("(" * 300 + "k" + ")" * 300, "not understood"),
        ("\0", "not understood"),
    ],
)
def test_answers(given: str, verdict: str) -> None:
    """Only a known mistake and `?` are certainly wrong."""
    judged = judge_gap(GAP, given)
    assert judged.verdict == verdict
    assert bool(judged.message) == (verdict == "not understood" or "tiled" in given)


def test_keyword_may_be_typed_with_its_value() -> None:
    """The gap is behind the name of the keyword."""
    gap = Gap("____2", "-1", "weights = torch.softmax(scores, dim=____2)", "")
    assert judge_gap(gap, "dim=-1").verdict == "right"
    assert judge_gap(gap, "dim=3").verdict == "undecided"


@pytest.mark.parametrize(("right", "grade"), [(4, 3), (3, 2), (2, 1), (0, 1)])
def test_rating_is_never_easy(right: int, grade: int) -> None:
    """All right is good, a wrong gap is hard, more are again."""
    assert rating(right, 4) == grade
