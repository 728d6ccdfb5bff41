"""The judge: due checks, skipped checks, statuses, advice, and the shares of a verdict."""

import re
from itertools import combinations

import pytest

from attn_drill.grading.comparison import Comparison
from attn_drill.grading.grader import Grader
from attn_drill.grading.judge import CHECKS
from attn_drill.model.challenge import Challenge, Submission
from attn_drill.packs import pack_reader
from attn_drill.worker.worker_client import WorkerResult
from tests.support.grading import BUGS, GQA, SOLUTION, failed_outcomes, grade, passed_checks
from tests.support.rows import each_row


def test_later_checks_are_skipped_with_the_reason(grader: Grader) -> None:
    """A check that needs a failed check is skipped and names it. All other checks are made."""
    report = grade(grader, ("math.sqrt(self.head_dim)", "self.head_dim"))
    reasons = {
        outcome.check: outcome.message for outcome in report.outcomes if outcome.status == "skipped"
    }
    assert reasons == {
        "masks": "needs values",
        "gradients": "needs values",
        "train/eval": "needs values",
        "properties": "needs values",
    }
    assert report.statuses()["vectorised"] == "passed"
    names = [signature.name.partition(".")[2] for signature in report.signatures]
    assert names == ["__init__", "forward"]
    assert "self.head_dim" in report.source
    explained, *others = failed_outcomes(report)
    assert others
    assert explained.mismatch.error_maps, "the report shows a picture of this failure only"
    assert not any(outcome.mismatch and outcome.mismatch.error_maps for outcome in others)


@pytest.mark.sampled(3)
@pytest.mark.thorough
@each_row(
    "bugs",
    {
        "values after a crash": ("a mask raises", "no scale", "no gradient"),
        "masks after a crash": ("a mask raises", "a soft mask", "no dropout"),
        "gradients": ("a long input raises", "no gradient", "a soft mask"),
        "constructor": ("the constructor raises", "no refusal", "no scale"),
        "library": ("a mask raises", "library attention", "no refusal"),
    },
)
def test_fixing_a_bug_keeps_all_passed_checks(grader: Grader, bugs: tuple[str, ...]) -> None:
    """Every check that passes with some bugs also passes with fewer of these bugs."""
    passed = {
        frozenset(some): passed_checks(grade(grader, *(BUGS[bug] for bug in some)))
        for count in range(len(bugs) + 1)
        for some in combinations(bugs, count)
    }
    for some, checks in passed.items():
        for bug in some:
            assert checks <= passed[some - {bug}], (sorted(some), bug)


def test_constructor_that_always_raises_does_not_pass_bad_sizes(grader: Grader) -> None:
    """The constructor also refuses bad sizes, but for another reason."""
    report = grade(grader, ("super().__init__()", "raise ValueError"))
    count = len(report.cases)
    assert report.statuses()["bad sizes"] == "skipped"
    assert {outcome.message for outcome in report.outcomes if outcome.check == "bad sizes"} == {
        f"the constructor raises in {count} of {count} cases with valid sizes"
    }
    assert passed_checks(report) == {"loads", "interface", "defaults"}


@pytest.mark.thorough
@pytest.mark.parametrize("persistent", [True, False])
def test_lost_imaginary_part_is_reported(grader: Grader, persistent: bool) -> None:
    """The cast of torch cuts off the imaginary part of a buffer. In float32 nothing is cast."""
    buffer = (
        "self.register_buffer('turn', torch.polar(torch.ones(1), torch.ones(1)), "
        f"persistent={persistent})"
    )
    turned = (
        "turned = self.turn * (1 - 0.25j) + 0j\n"
        "        return self.o_proj(merged) * (turned.imag > 0.5).to(x.dtype)"
    )
    report = grade(
        grader,
        ("self.dropout = nn", f"{buffer}\n        self.dropout = nn"),
        ("return self.o_proj(merged)", turned),
    )
    failed = failed_outcomes(report)
    assert failed
    for outcome in failed:
        assert outcome.number is not None
        dtype = report.cases[outcome.number - 1].dtype
        assert dtype != "float32"
        advice = f"the buffer turn lost its imaginary part when the module was cast to {dtype}"
        assert advice in outcome.message


ROWS = {check.name: check for check in CHECKS}


def test_check_passes_only_if_all_its_cases_ran(grader: Grader) -> None:
    """If every case with a mask raises, only the checks without masks can pass."""
    report = grade(grader, BUGS["a mask raises"])
    expected = {"loads", "interface", "parameters", "values", "defaults", "bad sizes"}
    assert passed_checks(report) == expected
    assert {outcome.check for outcome in failed_outcomes(report)} == {"runs"}
    reasons = {
        outcome.check: outcome.message for outcome in report.outcomes if outcome.status == "skipped"
    }
    assert re.search(r"^\d+ of \d+ cases did not run", reasons["masks"])
    assert re.search(r"^\d+ of \d+ cases did not run", reasons["vectorised"])
    assert report.verdict == "error"


def test_later_check_cannot_pass_on_wrong_cases(grader: Grader) -> None:
    """Gradients are compared only in cases with right values. The other cases are missing."""
    report = grade(grader, ("if mask is not None:", "if mask is not None and mask.dim() != 2:"))
    assert report.statuses()["masks"] == "failed"
    assert report.statuses()["gradients"] == "skipped"
    messages = [outcome.message for outcome in report.outcomes if outcome.check == "gradients"]
    assert any("no right output" in message for message in messages), messages


def test_values_and_masks_look_at_separate_cases(grader: Grader) -> None:
    """No case belongs to both checks, and cases with dropout belong to neither."""
    case_set = grader.case_set(GQA, 5)
    comparison = Comparison(case_set, WorkerResult("died"))
    values, masks = ROWS["values"].cases(comparison), ROWS["masks"].cases(comparison)
    assert values
    assert masks
    assert not values & masks
    with_dropout = {index for index, case in enumerate(case_set.cases) if case.dropout is not None}
    assert with_dropout
    assert not with_dropout & (values | masks)
    assert ROWS["runs"].cases(comparison) == set(range(len(case_set.cases)))


def test_single_case_has_fewer_due_checks(grader: Grader) -> None:
    """With one case, checks on the whole file and on pairs of cases are not due."""
    case_set = grader.case_set(GQA, 5)
    whole = Comparison(case_set, WorkerResult("died"))
    index = min(ROWS["values"].cases(whole))
    single = Comparison(case_set, WorkerResult("died"), case_index=index)
    assert ROWS["runs"].cases(single) == {index}
    for check in ("masks", "vectorised", "bad sizes"):
        assert ROWS[check].is_due(whole)
        assert not ROWS[check].is_due(single)
    assert ROWS["values"].is_due(single)


MHA = pack_reader.find_challenge(pack_reader.built_in_pack(), "mha")
ABOUT_VALUES = ("values", "masks", "gradients", "train/eval", "properties")
END = "return self.o_proj(merged)"


def shares(
    grader: Grader, *changes: tuple[str, str], challenge: Challenge = GQA
) -> dict[str, float]:
    """Return the shares of the reference of a challenge with replacements that must apply."""
    source = SOLUTION if challenge is GQA else pack_reader.solution(challenge)
    for old, new in changes:
        assert old in source, old
        source = source.replace(old, new)
    judgement = grader.grade(challenge, Submission(challenge.file_name, source), 5)
    return dict(judgement.with_shares().report.shares)


def test_right_answer_has_everything(grader: Grader) -> None:
    """The shares are those of the due checks, in their order."""
    found = shares(grader)
    assert set(found.values()) == {1.0}
    assert list(found)[3:8] == ["runs", "shapes", "dtype", "values", "masks"]


@pytest.mark.parametrize(
    "answer",
    [
        "torch.zeros_like(x)",
        "x",
        pytest.param("x.mean(dim=1, keepdim=True).expand_as(x)", id="the mean of the input"),
        pytest.param("x.mean(dim=-1, keepdim=True).expand_as(x)", id="the mean of each token"),
    ],
)
def test_trivial_answer_has_nothing(grader: Grader, answer: str) -> None:
    """It has the right shape, and right values where every key is masked."""
    found = shares(grader, (END, f"return {answer}"))
    assert found["shapes"] == found["dtype"] == found["bad sizes"] == 1.0
    assert {check: found[check] for check in ABOUT_VALUES} == dict.fromkeys(ABOUT_VALUES, 0.0)


def test_crash_costs_only_the_cases_in_which_it_happens(grader: Grader) -> None:
    """No check waits for another check: cases without a mask keep their values and gradients."""
    found = shares(grader, BUGS["a mask raises"])
    assert (found["values"], found["masks"], found["bad sizes"]) == (1.0, 0.0, 1.0)
    assert 0.2 < found["runs"] == found["shapes"] < 0.8
    assert 0.2 < found["gradients"] < 0.8
    assert 0.2 < found["properties"] < 0.8


def test_dtype_costs_the_cases_in_which_it_is_wrong(grader: Grader) -> None:
    """An answer that returns float32 always is right in the cases in float32."""
    found = shares(grader, (END, f"{END}.float()"))
    assert (found["runs"], found["shapes"]) == (1.0, 1.0)
    assert 0.5 < found["dtype"] < 1.0
    assert 0.5 < found["values"] <= 1.0


def test_each_output_of_a_case_counts(grader: Grader) -> None:
    """The output is right, and the returned weights are not."""
    found = shares(grader, ("return out, weights", "return out, weights.mean(1)"), challenge=MHA)
    assert 0.5 <= found["values"] < 1.0
    assert 0.5 <= found["masks"] < 1.0


def test_wrong_values_have_few_shares(grader: Grader) -> None:
    """Right are only cases in which the scale does not matter, as with a single key."""
    found = shares(grader, BUGS["no scale"])
    assert found["shapes"] == 1.0
    assert 0 < found["values"] < 0.3


def test_file_that_does_not_load_has_nothing(grader: Grader) -> None:
    """No check is right by default."""
    found = shares(grader, ("import math", "import math, no_such_module"))
    assert found["loads"] == 0.0
    assert set(found.values()) <= {0.0, 1.0}
    assert not any(found[check] for check in (*ABOUT_VALUES, "shapes", "dtype", "runs"))
