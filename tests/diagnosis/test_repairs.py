"""The mistakes that are left in the file of a bug hunt, and the parts that are right."""

import warnings
from contextlib import closing
from random import Random

import pytest

from attn_drill.diagnosis import repairs
from attn_drill.diagnosis._recorded_case import Reruns
from attn_drill.exercises.altered_reference import choose_several, plant_mistakes
from attn_drill.grading.grader import Grader
from attn_drill.model.challenge import Submission
from attn_drill.model.report import Repair
from attn_drill.packs import pack_reader
from attn_drill.packs.mistakes import patch_all, read_mistakes
from tests.support.grading import GPT, diagnoser_of, few_cases

GQA = pack_reader.find_challenge(pack_reader.built_in_pack(), "gqa")
SOURCE = pack_reader.solution(GPT)
KNOWN = {mistake.id: mistake for mistake in read_mistakes(GPT)}
PLANTED = ("no-scale", "sum-for-mean", "gradients-not-zeroed", "context-cropped-at-the-end")
PAIR = ("no-scale", "gradients-not-zeroed")  # has only four choices, where all four have sixteen


@pytest.fixture
def no_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the curve, which takes longer than everything else."""
    monkeypatch.setattr(repairs, "load_training", lambda case_set: None)


def repair_with(
    grader: Grader,
    left: tuple[str, ...],
    change: tuple[str, str] = ("", ""),
    planted: tuple[str, ...] = PLANTED,
) -> Repair:
    """Return the progress of a file that still has these mistakes, and another change."""
    source = patch_all(SOURCE, [KNOWN[name] for name in left], "").replace(*change)
    judgement = grader.judge(few_cases(grader), Submission("hunt.py", source))
    references = diagnoser_of(grader).references(judgement.case_set)
    with closing(Reruns(grader.workers, judgement)) as reruns, warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a mistake may make layers that torch warns about
        return repairs.repair_of(references, judgement, reruns, planted)


# The test of another style leaves three mistakes.
@pytest.mark.usefixtures("no_curve")
@pytest.mark.parametrize(
    "count", [*(pytest.param(count, marks=pytest.mark.thorough) for count in range(4)), 4]
)
def test_left_mistakes_are_counted_and_parts_follow(grader: Grader, count: int) -> None:
    """Each repair takes a mistake off, and makes its part right."""
    repair = repair_with(grader, PLANTED[count:])
    assert repair.left is not None
    assert tuple(mistake.id for mistake in repair.left) == PLANTED[count:]
    assert [part.state for part in repair.parts] == ["right"] * count + ["wrong"] * (4 - count)


@pytest.mark.usefixtures("no_curve")
def test_single_case_shows_the_progress_of_the_whole_file(grader: Grader) -> None:
    """A right case does not mean that no mistake is left. The training step is wrong in others."""
    source = patch_all(SOURCE, [KNOWN["gradients-not-zeroed"]], "")
    judgement = grader.judge(few_cases(grader), Submission("hunt.py", source), 0)
    assert judgement.report.verdict == "passed"
    repair = diagnoser_of(grader).report(judgement, PAIR).repair
    assert repair is not None
    assert repair.left is not None
    assert [mistake.id for mistake in repair.left] == ["gradients-not-zeroed"]
    assert {part.name: part.state for part in repair.parts}["training step"] == "wrong"


@pytest.mark.usefixtures("no_curve")
def test_repair_in_another_style_counts(grader: Grader) -> None:
    """Behaviour decides, not text."""
    other = ("scores / math.sqrt(self.head_dim)", "scores * q.shape[-1] ** -0.5")
    repair = repair_with(grader, PLANTED[1:], other)
    assert repair.left is not None
    assert tuple(mistake.id for mistake in repair.left) == PLANTED[1:]
    assert [part.state for part in repair.parts] == ["right", "wrong", "wrong", "wrong"]


@pytest.mark.usefixtures("no_curve")
def test_new_mistake_makes_the_number_unknown(grader: Grader) -> None:
    """The loss is still right, and parts that use the wrong model are not clear."""
    repair = repair_with(grader, (), ("x = self.ln_f(x)", "x = self.ln_f(x) + 1"), PAIR)
    assert repair.left is None
    states = {part.name: part.state for part in repair.parts}
    assert states["model"] == "wrong"
    assert states["training step"] == "unknown"


@pytest.mark.thorough
def test_curve_is_that_of_the_reference_after_the_repair(grader: Grader) -> None:
    """100 steps, with the same first loss; the loss of the reference falls."""
    curve = repair_with(grader, ()).curve
    assert curve is not None
    assert len(curve.actual) == len(curve.expected) == 100
    assert curve.actual[0] == pytest.approx(curve.expected[0], abs=1e-4)
    assert (curve.expected[-1] or 9) < 0.5 < (curve.expected[0] or 0)


@pytest.mark.thorough
def test_mistakes_that_hide_each_other_are_not_distinct(grader: Grader) -> None:
    """A mask that raises an exception hides the missing scale."""
    references = diagnoser_of(grader).references(few_cases(grader))
    assert repairs.are_distinct(references, PLANTED[:3])
    assert not repairs.are_distinct(references, ("no-scale", "causal-mask-of-floats"))


def test_hidden_mistake_is_found_with_few_runs(grader: Grader) -> None:
    """Of 16 choices of four mistakes, the five with at most one repair are enough."""
    references = diagnoser_of(grader).references(few_cases(grader))
    hidden = ("no-scale", "causal-mask-of-floats", "sum-for-mean", "gradients-not-zeroed")
    before = references.case_count
    assert not repairs.are_distinct(references, hidden)
    cases = len(repairs.telling_cases(references.case_set))
    assert references.case_count - before <= 5 * cases


def test_chosen_mistakes_are_in_different_statements() -> None:
    """No two change the same statement, also in a challenge without parts."""
    mistakes, source = read_mistakes(GQA), pack_reader.solution(GQA)
    chosen = next(choose_several(mistakes, source, 3, (), Random(1)))
    assert len(chosen) == 3
    assert plant_mistakes(source, chosen, "").source != source
