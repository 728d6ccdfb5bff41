"""The stages of a report, and the next stage that shows something new."""

from dataclasses import replace
from itertools import pairwise

import pytest

from attn_drill.model.report import Diagnosis, EffectiveMask, Frame, Outcome, Report
from attn_drill.report.wording import STAGES, Stage, has_cause, next_stage, shows, stages_of
from tests.support.report import DIAGNOSIS, NO_SCALE, explained, report_with

MASK = EffectiveMask("the mask is inverted", 0, ("#.",), (".#",))
SAME_MASK = EffectiveMask("", 0, (), (".#",))
RAISED = Outcome("runs", "failed", "m", "a [case]", 1, frames=(Frame(3, "f", "x"),))


def test_each_stage_shows_more_than_the_stage_before() -> None:
    """A stage shows its own part and all earlier parts."""
    assert STAGES == ("where", "line", "question", "cause")
    order: list[Stage] = list(STAGES)
    for earlier, later in pairwise(order):
        assert shows(later, earlier)
        assert not shows(earlier, later)
    assert all(shows(stage, stage) for stage in STAGES)


@pytest.mark.parametrize(
    ("diagnosis", "stages"),
    [
        pytest.param(None, ["where"], id="no diagnosis"),
        pytest.param(Diagnosis(), ["where"], id="nothing found"),
        pytest.param(DIAGNOSIS, ["where", "line", "question", "cause"], id="all found"),
        pytest.param(Diagnosis(mistakes=(NO_SCALE,)), ["where", "question", "cause"], id="no line"),
        pytest.param(
            Diagnosis(first_missed="scores"), ["where", "line"], id="a result that no line makes"
        ),
        pytest.param(Diagnosis(layout="transposed"), ["where", "line"], id="another order"),
        pytest.param(Diagnosis(cleared=("mask",)), ["where", "line"], id="parts ruled out"),
        pytest.param(
            replace(DIAGNOSIS, mistakes=(replace(NO_SCALE, hint=""),)),
            ["where", "line", "cause"],
            id="a mistake without a question",
        ),
        pytest.param(replace(DIAGNOSIS, mistakes=()), ["where", "line"], id="no mistake"),
        pytest.param(Diagnosis(effective_mask=MASK), ["where", "cause"], id="a wrong mask"),
        pytest.param(Diagnosis(effective_mask=SAME_MASK), ["where"], id="a right mask"),
    ],
)
def test_report_has_the_stages_that_show_something_new(
    diagnosis: Diagnosis | None, stages: list[Stage]
) -> None:
    """The picture and the figures are always shown."""
    report = explained(diagnosis=diagnosis)
    assert stages_of(report) == stages
    assert has_cause(report) == ("cause" in stages)
    for stage, following in pairwise([*stages, None]):
        assert stage is not None
        assert next_stage(report, stage) == following


def test_line_of_an_exception_is_a_stage() -> None:
    """A traceback has the line, so no diagnosis is needed."""
    assert stages_of(report_with(RAISED)) == ["where", "line"]
    assert stages_of(report_with(RAISED, diagnosis=DIAGNOSIS)) == list(STAGES)


def test_stage_that_the_report_lacks_is_skipped() -> None:
    """After a stage that shows nothing new comes the next stage that does."""
    report = explained(diagnosis=Diagnosis(mistakes=(NO_SCALE,)))
    assert next_stage(report, "line") == "question"
    assert next_stage(explained(diagnosis=None), "line") is None


def test_pass_has_no_next_stage() -> None:
    """There is nothing to explain."""
    report = Report("gqa", "f.py", 1, "passed", (Outcome("loads", "passed"),))
    assert [next_stage(report, stage) for stage in STAGES] == [None] * 4
    assert not has_cause(report)
