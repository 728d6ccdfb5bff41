"""Tests of references with gaps."""

import ast
import re
from random import Random

import pytest

from attn_drill.exercises.altered_reference import (
    FEWEST,
    MOST,
    Gap,
    GapExercise,
    gap_exercise,
    strip_comments,
    typed_expression,
)
from attn_drill.grading.grader import Grader
from attn_drill.model.challenge import Challenge, Mistake, Submission
from attn_drill.packs import pack_reader
from attn_drill.packs.mistakes import lines_of, read_mistakes
from tests.support.exercises import CHALLENGES

SMALL = '''"""A small reference."""

import math


class Small(nn.Module):
    """A small reference."""

    def __init__(self, d):
        self.d = d

    def forward(self, q, k, v, mask, group_size):
        if q.shape[1] % group_size != 0:
            raise ValueError(f"{q.shape[1]} heads")
        d = self.d
        k = k.repeat_interleave(group_size, dim=1)
        v = v.repeat_interleave(group_size, dim=1)

        scores = q @ k.transpose(-2, -1)  # é, in two bytes
        scores = scores / math.sqrt(d)  # the scale
        scores = scores.masked_fill(~mask, float("-inf"))
        weights = torch.softmax(scores, dim=-1)
        return weights @ v
'''
REPEAT = Mistake("0", "k.repeat_interleave(group_size, dim=1)", "k.repeat(1, 2, 1, 1)", "", "")
MISTAKES = [
    Mistake(str(number), was, now, "", "")
    for number, (was, now) in enumerate(
        [
            ("math.sqrt(d)", "d"),
            ("~mask", "mask"),
            ("dim=-1", "dim=-2"),
            ("        k = k.repeat_interleave(group_size, dim=1)\n", ""),
        ]
    )
]


def small(seed: int, *mistakes: Mistake) -> GapExercise:
    """Return an exercise of the small reference."""
    exercise = gap_exercise(SMALL, mistakes or MISTAKES, Random(seed))
    assert exercise is not None
    return exercise


def gap_of(was: str, now: str) -> str:
    """Return the code of the gap that a mistake gives, next to two gaps on other lines."""
    mistake = Mistake("x", was, now, "", "")
    line = lines_of(SMALL, mistake).start
    others = [other for other in MISTAKES if lines_of(SMALL, other).start != line]
    (answer,) = [gap.right for gap in small(0, mistake, *others[:2]).gaps if gap.line == line]
    return answer


@pytest.mark.sampled(24)
@pytest.mark.parametrize("challenge", CHALLENGES, ids=lambda challenge: challenge.id)
def test_every_challenge_has_gaps_on_different_lines(challenge: Challenge) -> None:
    """A gap holds code of the reference, and the code shows neither it nor a comment."""
    source = pack_reader.solution(challenge)
    exercise = gap_exercise(source, read_mistakes(challenge), Random(1))
    assert exercise is not None
    assert FEWEST <= len(exercise.gaps) <= MOST
    assert len({gap.line for gap in exercise.gaps}) == len(exercise.gaps)
    shown = exercise.code
    assert "#" not in shown
    for number, gap in enumerate(exercise.gaps, start=1):
        (line,) = [line.strip() for line in shown.splitlines() if f"____{number}" in line]
        assert line.replace(f"____{number}", gap.right) in strip_comments(source)
        assert not re.search(rf"(?<!\w){re.escape(gap.right)}(?!\w)", shown)
        typed = typed_expression(gap.right)
        assert typed is not None
        assert ast.dump(ast.parse(gap.filled(source, typed))) == ast.dump(ast.parse(source))


@pytest.mark.parametrize(
    ("was", "now", "right"),
    [
        ("dim=-1", "dim=0", "torch.softmax(scores, dim=-1)"),
        ("d)  # the scale", "self.d)", "math.sqrt(d)"),
        ("(-2, -1)", "(-1, 1)", "k.transpose(-2, -1)"),
        ("        scores = scores / math.sqrt(d)  # the scale\n", "", "scores / math.sqrt(d)"),
        ("weights @ v", "weights @ v.detach()", "weights @ v"),
        ("weights =", "scores =", "torch.softmax(scores, dim=-1)"),
    ],
)
def test_gap_is_the_smallest_expression_with_the_change(was: str, now: str, right: str) -> None:
    """Names and numbers are too small. A missing line has a gap for its value."""
    assert gap_of(was, now) == right


def test_code_that_shows_an_answer_is_hidden() -> None:
    """Keys and values are repeated in the same way, so the values have a gap without a number."""
    code = small(1, REPEAT, *MISTAKES[:2]).code
    assert "repeat_interleave" not in code
    assert "v = ____\n" in code


def test_equal_seeds_give_equal_gaps() -> None:
    """Other seeds give other gaps."""
    assert small(1) == small(1)
    assert len({small(seed).code for seed in range(8)}) > 1


def test_reference_with_two_places_has_no_gaps() -> None:
    """Two gaps would say too little."""
    assert gap_exercise(SMALL, MISTAKES[:2], Random(1)) is None
    refusal = Mistake("x", "q.shape[1] % group_size != 0", "q.shape[1] > 3", "", "")
    assert gap_exercise(SMALL, [*MISTAKES[:2], refusal], Random(1)) is None


def test_gap_after_other_letters_is_filled() -> None:
    """Python counts the bytes of a line."""
    gap = Gap("a", 2, 11, 12)
    assert gap.filled('x = 1\ny = "é" + a\n', "b") == 'x = 1\ny = "é" + b\n'


@pytest.mark.parametrize(
    ("text", "code"),
    [
        (" a*b ", "(a * b)"),
        ("`a`", "(a)"),
        ("x = a  # so", "(a)"),
        ("return a", "(a)"),
        ("a) + (b", None),
        ("a, b", "((a, b))"),
        ("", None),
        ("?", None),
        ("a.", None),
        ("a; b", None),
        ("pass", None),
        ("return", None),
        ("(" * 300 + "k" + ")" * 300, None),
        ("-" * 9000 + "1", None),
        ("\0", None),
    ],
)
def test_typed_text_is_one_expression_or_nothing(text: str, code: str | None) -> None:
    """An expression stays an expression wherever it is filled in."""
    assert typed_expression(text) == code


def test_odd_code_gives_no_warning() -> None:
    """Python warns of this; the tests turn warnings into errors."""
    assert typed_expression("'\\d' is 1") is not None


def test_grader_judges_a_filled_gap(grader: Grader) -> None:
    """Code that no text comparison knows is right too."""
    gqa = next(challenge for challenge in CHALLENGES if challenge.id == "gqa")
    source = pack_reader.solution(gqa)
    right = "scores / math.sqrt(self.head_dim)"
    line = source[: source.index(right)].count("\n") + 1
    start = source.splitlines()[line - 1].index(right)
    gap = Gap(right, line, start, start + len(right))
    for code, verdict in (("(scores * self.head_dim ** -0.5)", "passed"), ("(scores)", "failed")):
        submission = Submission("gap.py", gap.filled(source, code))
        assert grader.grade(gqa, submission, 5).report.verdict == verdict
