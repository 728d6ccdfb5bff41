"""Tests of a report as an HTML page."""

import re
from dataclasses import replace

import pytest

from attn_drill.model.case import Case
from attn_drill.model.challenge import Mistake
from attn_drill.model.report import (
    AttentionWeights,
    Diagnosis,
    EffectiveMask,
    ErrorMap,
    Frame,
    Mismatch,
    Outcome,
    Patterns,
    Report,
)
from attn_drill.report.pages import error_grid, report_page

CASE = Case("two <heads>", {"x": None}, {"out": "B H"}, {"B": 2, "H": 3})
MAP = ErrorMap("B", "H", 2, 3, 1, 1, ((0.0, 5.0, None), (2e3, 5e4, 1e9)))
MISMATCH = Mismatch("out", "value", "B H", (2, 3), (2, 3), mismatched=5, total=6, error_maps=(MAP,))
MASK = EffectiveMask("queries see the future", 1, ("###",), ("##.",), cached=1)
DIAGNOSIS = Diagnosis(
    mistakes=(Mistake("no-scale", "a", "b", "The <scale> is missing.", "Which scale?"),),
    first_line=Frame(2, "forward", "scores = q @ k"),
    effective_mask=MASK,
    attention=AttentionWeights(0, (((0.25, None),),), (((0.5, 0.5),),)),
)
REPORT = Report(
    challenge="gqa",
    file="gqa.py",
    seed=7,
    verdict="failed",
    outcomes=(
        Outcome("values", "failed", "5 of 6 differ", CASE.name, 1, MISMATCH),
        Outcome("loads", "passed"),
    ),
    cases=(CASE,),
    diagnosis=DIAGNOSIS,
    source="def forward(q, k):\n    scores = q @ k\n    return scores\n",
)


def test_page_shows_cause_line_pictures_and_commands() -> None:
    """All parts of the report are on the page, and its texts are escaped."""
    page = report_page(REPORT)
    assert "The &lt;scale&gt; is missing." in page
    assert "two &lt;heads&gt;" in page
    assert "<heads>" not in page
    assert "Line 2 in forward" in page
    assert re.search(r'class="marked"><td>2</td><td><code>    scores = q @ k', page)
    assert "The keys (dark) that each query, a row, attends to" in page
    assert "attn-drill check gqa gqa.py --seed 7 --case 1" in page
    assert page.count("<figure") == 2 + 1 + 2  # masks, one map, one head
    assert page.index("Attention weights") < page.index("Errors of out")


@pytest.mark.parametrize("stage", ["where", "line", "question"])
def test_earlier_stage_hides_the_cause(stage: str) -> None:
    """The mistake is not on the page. Its question comes after its line."""
    page = report_page(REPORT, stage)  # type: ignore[arg-type]  # a stage
    assert "scale&gt;" not in page
    assert ("<b>Question</b> Which scale?" in page) == (stage == "question")
    assert "Line 2 in forward" in page


def test_relation_of_the_result_stands_under_the_mistake() -> None:
    """Both are in the section of the answer."""
    page = report_page(replace(REPORT, diagnosis=replace(DIAGNOSIS, layout="the heads are tiled")))
    assert re.search(r"<b>Likely</b> .*\n<p><b>Result</b> The heads are tiled.</p>", page)


def test_file_of_the_commands_may_be_left_out() -> None:
    """Options of every command follow it."""
    page = report_page(REPORT, file="", options=" --pack p")
    assert "attn-drill check gqa --seed 7 --case 1 --pack p<" in page


def test_errors_have_a_level_each() -> None:
    """Every level of error has its own squares; a value that is not finite has the last level."""
    grid = error_grid(MAP)
    assert (grid.width, grid.height) == (3, 2)
    assert {kind: path.count("M") for kind, path in grid.squares} == {
        "level-0": 1,
        "level-1": 1,
        "level-2": 1,
        "level-3": 2,
        "level-4": 1,
    }


def test_only_heads_with_wrong_weights_are_shown() -> None:
    """If all are right, a sentence says so."""
    right, wrong = ((0.5, 0.5),), ((1.0, 0.0),)
    attention = AttentionWeights(0, (right, wrong), (right, right))
    page = report_page(replace(REPORT, diagnosis=Diagnosis(attention=attention)))
    assert "head 1, yours" in page
    assert "head 0" not in page
    attention = AttentionWeights(0, (right, right), (right, right))
    page = report_page(replace(REPORT, diagnosis=Diagnosis(attention=attention)))
    assert "The weights of every head look as expected." in page


def test_boolean_output_is_shown_as_it_is() -> None:
    """Two pictures show the matrix and the expected matrix."""
    patterns = Patterns("Lq", "Lk", "b=0", ("#.",), ("##",))
    outcome = replace(
        REPORT.outcomes[0], mismatch=replace(MISMATCH, error_maps=(), patterns=patterns)
    )
    report = replace(REPORT, outcomes=(outcome,), diagnosis=None)
    page = report_page(report)
    assert "At b=0, rows are Lq, columns are Lk, dark is True." in page
    assert page.count("<figure") == 2


def test_passed_report_is_a_page_too() -> None:
    """A pass has no failure to show, but the next command."""
    report = Report("gqa", "gqa.py", 7, "passed", (Outcome("loads", "passed"),))
    page = report_page(report)
    assert "PASSED" in page
    assert "attn-drill solution gqa" in page
