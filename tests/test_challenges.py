"""All content, whatever it is: what is right passes, what is wrong is refused, with seeds nobody chose.

Few seeds here; `attn-drill pack check`, which CI runs too, takes more.
"""

import random
import re
import secrets

import pytest

from tests.support.grading import diagnoser_of, report_of
from trainer.grading.grader import Grader
from trainer.model.challenge import Challenge
from trainer.model.submission import Submission
from trainer.packs import pack_reader
from trainer.packs.interface import signatures
from trainer.packs.mistakes import patch, read_mistakes
from trainer.server.pack_check import in_words

SEEDS = (1, secrets.randbelow(1 << 31))


# What the contract calls right in every challenge, as changes to whatever reference has the line.
SOFTMAX = r"torch\.softmax\((\w+), dim=-1\)"


AS_RIGHT = {
    "softmax in float32": (SOFTMAX, r"torch.softmax(\1.float(), dim=-1).to(\1.dtype)"),
    "softmax by hand": (
        SOFTMAX,
        r"(lambda e: e / e.sum(-1, keepdim=True))((\1 - \1.amax(-1, keepdim=True)).exp())",
    ),
    "exp(score - logsumexp)": (SOFTMAX, r"(\1 - torch.logsumexp(\1, dim=-1, keepdim=True)).exp()"),
    "a root in float32": (r"math\.sqrt\(([^()\n]*)\)", r"torch.tensor(float(\1)).sqrt()"),
    "a fill of -1e9": (r'float\("-inf"\)', "-1e9"),
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


RIGHT = [
    (one, path)
    for one in CHALLENGES
    for path in (one.solutions / "solution.py", *pack_reader.also_right(one))
]


@pytest.mark.thorough
@pytest.mark.parametrize(
    ("challenge", "path"), RIGHT, ids=[f"{one.id}-{path.stem}" for one, path in RIGHT]
)
def test_right_passes(grader: Grader, challenge: Challenge, path) -> None:
    """The reference and every other right answer, with a seed that nobody chose; `pack check` takes others."""
    report = report_of(grader, challenge, path.read_text(), path.name, SEEDS[-1])
    assert report.verdict == "passed", f"seed {SEEDS[-1]}: {in_words(report)}"


@pytest.mark.thorough
@pytest.mark.parametrize("challenge", CHALLENGES, ids=[one.id for one in CHALLENGES])
def test_mistakes_are_refused_and_named(grader: Grader, challenge: Challenge) -> None:
    """A tenth of the known mistakes, others in every run; `pack check` takes them all, and CI a sixteenth of them after the tests."""
    mistakes = read_mistakes(challenge)
    for mistake in random.Random(SEEDS[-1]).sample(mistakes, max(4, len(mistakes) // 10)):
        source = patch(pack_reader.solution(challenge), mistake, "solution.py")
        judgement = grader.grade(challenge, Submission("solution.py", source), SEEDS[-1])
        report, named = judgement.report, diagnoser_of(grader).matching_mistake(judgement)
        assert report.verdict != "passed", f"{mistake.id}, seed {SEEDS[-1]}"
        assert named in ((mistake.id,), mistake.twins[:1]), f"{mistake.id}, seed {SEEDS[-1]}"


@pytest.mark.thorough
@pytest.mark.parametrize("challenge", CHALLENGES, ids=[one.id for one in CHALLENGES])
def test_stub_is_refused_and_is_the_interface(grader: Grader, challenge: Challenge) -> None:
    """The stub does not pass, and the reference has its signatures."""
    assert (
        report_of(grader, challenge, pack_reader.stub(challenge), "stub.py", SEEDS[0]).verdict
        != "passed"
    )
    assert signatures(challenge)


@pytest.mark.parametrize("challenge", CHALLENGES, ids=[one.id for one in CHALLENGES])
def test_sizes_differ_within_a_case(grader: Grader, challenge: Challenge) -> None:
    """For every pair of letters there is a case in which their sizes differ, so that no axis passes by luck."""
    cases = [
        case
        for case in grader.case_set(challenge, SEEDS[0]).cases
        if case.probe is None and case.check in ("values", "masks")
    ]
    letters = sorted({letter for case in cases for letter in case.sizes})
    for one in letters:
        for other in letters:
            together = [case for case in cases if one in case.sizes and other in case.sizes]
            assert (
                one == other
                or not together
                or any(case.sizes[one] != case.sizes[other] for case in together)
            ), f"{one} = {other} in every case"


def in_another_way(challenge: Challenge, rule: str) -> str | None:
    """The reference with this rule applied; None where it has no such line."""
    variant = re.sub(*AS_RIGHT[rule], source := pack_reader.solution(challenge))
    return None if variant == source else variant


VARIANTS = [
    (one, rule) for rule in AS_RIGHT for one in CHALLENGES if in_another_way(one, rule) is not None
]


@pytest.mark.sampled(8)
@pytest.mark.parametrize(
    ("challenge", "rule"), VARIANTS, ids=[f"{one.id}-{rule}" for one, rule in VARIANTS]
)
def test_what_the_contract_calls_right_passes(
    grader: Grader, challenge: Challenge, rule: str
) -> None:
    """Other ways of the same precision, applied to every reference that has the line."""
    report = report_of(
        grader, challenge, in_another_way(challenge, rule) or "", "solution.py", SEEDS[-1]
    )
    assert report.verdict == "passed", f"seed {report.seed}: {in_words(report)}"


@pytest.mark.parametrize("rule", AS_RIGHT)
def test_what_the_contract_calls_right_is_tried(rule: str) -> None:
    """Each pattern still finds its line in half of the references."""
    assert sum(one == rule for _, one in VARIANTS) >= len(CHALLENGES) // 2
