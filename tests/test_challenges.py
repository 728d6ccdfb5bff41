"""The built-in challenges: right answers pass and wrong answers are refused, under random seeds.

These tests use few seeds. `attn-drill pack check`, which also runs in CI, uses more.
"""

import random
import re
import secrets
from itertools import combinations
from pathlib import Path

import pytest

from attn_drill.grading.grader import Grader
from attn_drill.model.challenge import Challenge, Submission
from attn_drill.packs import pack_reader
from attn_drill.packs.mistakes import patch, read_mistakes
from attn_drill.packs.pack_reader import signatures
from attn_drill.server._pack_check import in_words
from tests.support.arranged import (
    another_order,
    pieces_in_file,
    right_order,
    solved,
    with_wrong,
    wrong_in,
)
from tests.support.grading import diagnoser_of, report_of

SEEDS = (1, secrets.randbelow(1 << 31))
# Styles that the contract allows in every challenge, as changes to all references with the line.
SOFTMAX = r"torch\.softmax\((\w+), dim=-1\)"
ALLOWED_STYLES = {
    "softmax in float32": (SOFTMAX, r"torch.softmax(\1.float(), dim=-1).to(\1.dtype)"),
    "softmax by hand": (
        SOFTMAX,
        r"(lambda e: e / e.sum(-1, keepdim=True))((\1 - \1.amax(-1, keepdim=True)).exp())",
    ),
    "exp(score - logsumexp)": (SOFTMAX, r"(\1 - torch.logsumexp(\1, dim=-1, keepdim=True)).exp()"),
    "a root in float32": (r"math\.sqrt\(([^()\n]*)\)", r"torch.tensor(float(\1)).sqrt()"),
    "a fill of -1e9": (r'(masked_fill\(.*), float\("-inf"\)\)', r"\1, -1e9)"),
    "a fill of finfo.min": (
        r"masked_fill\((.*), float\(\"-inf\"\)\)",
        r"masked_fill(\1, torch.finfo(scores.dtype).min)",
    ),
    "an added mask": (
        r"scores\.masked_fill\((.*), float\(\"-inf\"\)\)",
        r'(scores + torch.zeros((\1).shape, dtype=scores.dtype).masked_fill(\1, float("-inf")))',
    ),
    "where": (
        r"scores\.masked_fill\((.*), float\(\"-inf\"\)\)",
        r'torch.where(\1, float("-inf"), scores)',
    ),
}
CHALLENGES = pack_reader.read_pack(pack_reader.built_in_pack())
IDS = [challenge.id for challenge in CHALLENGES]
ARRANGED = [challenge for challenge in CHALLENGES if challenge.id in ("sdpa", "gqa", "rope")]
RIGHT = [
    (challenge, path)
    for challenge in CHALLENGES
    for path in (challenge.solutions / "solution.py", *pack_reader.also_right(challenge))
]


@pytest.mark.thorough
@pytest.mark.sampled(48)  # `pack check` grades all
@pytest.mark.parametrize(
    ("challenge", "path"), RIGHT, ids=[f"{challenge.id}-{path.stem}" for challenge, path in RIGHT]
)
def test_right_answers_pass(grader: Grader, challenge: Challenge, path: Path) -> None:
    """Grade the reference and all other right answers under a random seed."""
    report = report_of(grader, challenge, path.read_text(), path.name, SEEDS[-1])
    assert report.verdict == "passed", f"seed {SEEDS[-1]}: {in_words(report)}"


@pytest.mark.thorough
@pytest.mark.sampled(24)  # `pack check` grades all
@pytest.mark.parametrize("challenge", CHALLENGES, ids=IDS)
def test_mistakes_are_refused_and_named(grader: Grader, challenge: Challenge) -> None:
    """Grade a random tenth of the known mistakes.

    `pack check` grades all of them, and CI grades one in 192 beside the tests.
    """
    mistakes = read_mistakes(challenge)
    for mistake in random.Random(SEEDS[-1]).sample(mistakes, max(4, len(mistakes) // 10)):
        source = patch(pack_reader.solution(challenge), mistake, "solution.py")
        judgement = grader.grade(challenge, Submission("solution.py", source), SEEDS[-1])
        report, named = judgement.report, diagnoser_of(grader).matching_mistake(judgement)
        assert report.verdict != "passed", f"{mistake.id}, seed {SEEDS[-1]}"
        assert named in ((mistake.id,), mistake.twins[:1]), f"{mistake.id}, seed {SEEDS[-1]}"


@pytest.mark.thorough
@pytest.mark.sampled(24)  # `pack check` grades all
@pytest.mark.parametrize("challenge", CHALLENGES, ids=IDS)
def test_stub_is_refused_and_has_signatures(grader: Grader, challenge: Challenge) -> None:
    """The stub of every challenge defines the interface but does not pass."""
    report = report_of(grader, challenge, pack_reader.stub(challenge), "stub.py", SEEDS[0])
    assert report.verdict != "passed"
    assert signatures(challenge)


@pytest.mark.sampled(12)
@pytest.mark.parametrize("challenge", CHALLENGES, ids=IDS)
def test_sizes_differ_within_a_case(grader: Grader, challenge: Challenge) -> None:
    """Each pair of letters has different sizes in some case, so no wrong axis passes by luck."""
    cases = [
        case
        for case in grader.case_set(challenge, SEEDS[0]).cases
        if case.probe is None and case.check in ("values", "masks")
    ]
    letters = sorted({letter for case in cases for letter in case.sizes})
    for first, second in combinations(letters, 2):
        sizes = [
            (case.sizes[first], case.sizes[second])
            for case in cases
            if first in case.sizes and second in case.sizes
        ]
        differs = any(first_size != second_size for first_size, second_size in sizes)
        assert differs or not sizes, f"{first} = {second} in every case"


def in_allowed_style(challenge: Challenge, rule: str) -> str | None:
    """Return the reference with a rule applied, or None if the reference has no such line."""
    variant = re.sub(*ALLOWED_STYLES[rule], source := pack_reader.solution(challenge))
    return None if variant == source else variant


VARIANTS = [
    (challenge, rule)
    for rule in ALLOWED_STYLES
    for challenge in CHALLENGES
    if in_allowed_style(challenge, rule) is not None
]


@pytest.mark.thorough
@pytest.mark.sampled(96)
@pytest.mark.parametrize(
    ("challenge", "rule"), VARIANTS, ids=[f"{challenge.id}-{rule}" for challenge, rule in VARIANTS]
)
def test_allowed_styles_pass(grader: Grader, challenge: Challenge, rule: str) -> None:
    """Apply each allowed style to every reference that has the line."""
    report = report_of(
        grader, challenge, in_allowed_style(challenge, rule) or "", "solution.py", SEEDS[-1]
    )
    assert report.verdict == "passed", f"seed {report.seed}: {in_words(report)}"


@pytest.mark.parametrize("rule", ALLOWED_STYLES)
def test_allowed_styles_apply_to_many_references(rule: str) -> None:
    """A pattern that no longer finds its line would test nothing."""
    assert sum(applied == rule for _, applied in VARIANTS) >= 9


@pytest.mark.sampled(8)
@pytest.mark.parametrize("challenge", ARRANGED, ids=lambda challenge: challenge.id)
def test_other_right_orders_of_arranged_lines_pass(grader: Grader, challenge: Challenge) -> None:
    """Lines of the level `arrange` that do not depend on each other may be exchanged."""
    text, right = pack_reader.stub(challenge, "arrange"), right_order(pieces_in_file(challenge))
    sources = set()
    for seed in range(3):
        rng = random.Random(seed)
        orders = {function: another_order(pieces, rng) for function, pieces in right.items()}
        sources.add(solved(text, orders))
    assert len(sources) > 1
    for source in sources:
        report = report_of(grader, challenge, source, "solution.py", SEEDS[-1])
        assert report.verdict == "passed", f"seed {report.seed}: {in_words(report)}\n{source}"


@pytest.mark.sampled(8)
@pytest.mark.parametrize("challenge", ARRANGED, ids=lambda challenge: challenge.id)
def test_every_wrong_arranged_line_is_refused(grader: Grader, challenge: Challenge) -> None:
    """A wrong line of the level `arrange`, in place of the right line, does not pass."""
    text, pieces = pack_reader.stub(challenge, "arrange"), pieces_in_file(challenge)
    assert len(wrong_in(pieces)) >= 2
    for wrong in wrong_in(pieces):
        source = solved(text, with_wrong(right_order(pieces), wrong))
        report = report_of(grader, challenge, source, "solution.py", SEEDS[-1])
        assert report.verdict != "passed", f"{wrong.mistake}, seed {report.seed}"
