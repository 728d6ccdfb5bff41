"""Tests of the summary of a class: its counts, its scores, and its excerpts."""

import pytest

from attn_drill.classroom.records import Gradebook, Override, Student, StudentResult
from attn_drill.export._class_page import CheckRate, ClassSummary, distribution, summarise
from tests.support.class_results import (
    EVERYONE,
    INVERTED,
    NO_SCALE,
    TILED,
    assignment,
    grade_of,
    make_gradebook,
    result,
    student_grade,
    ungraded,
)


def summary_of(
    results: list[StudentResult], challenges: tuple[str, ...] = ("first",)
) -> ClassSummary:
    """Return the summary of results without penalties and overrides."""
    return summarise(make_gradebook(results, assignment(challenges)))


def test_summary_of_five_students_has_the_right_counts() -> None:
    """Verdicts, scores and checks are counted by hand."""
    results = [
        result("Ann", late=True),
        result(
            "Ben",
            verdict="failed",
            failed=("values",),
            skipped=("masks", "gradients"),
            mistakes=(NO_SCALE,),
        ),
        result("Cy", verdict="failed", failed=("values", "masks"), mistakes=(NO_SCALE, TILED)),
        result(
            "Di",
            verdict=None,
        ),
        result("Ed", verdict="not-allowed", failed=("from scratch",)),
    ]
    summary = summary_of(results)
    challenge = summary.challenges[0]
    assert (summary.students, summary.submissions) == (5, 5)
    assert summary.verdicts == {"failed": 2, "passed": 1, None: 1, "not-allowed": 1}
    scores = [0.0, 14.9, 29.9, 100.0]
    assert challenge.scores.mean == pytest.approx(sum(scores) / 4)
    assert challenge.scores.median == pytest.approx((scores[1] + scores[2]) / 2)
    assert challenge.scores.bins == (1, 1, 1, 0, 0, 0, 0, 0, 0, 1)
    assert challenge.checks[:3] == (
        CheckRate("values", 4, 2, 0),
        CheckRate("masks", 4, 1, 1),
        CheckRate("from scratch", 4, 1, 0),
    )
    assert CheckRate("gradients", 4, 0, 1) in challenge.checks
    mistakes = [(mistake.id, mistake.students, mistake.says) for mistake in challenge.mistakes]
    assert mistakes == [(NO_SCALE.id, 2, NO_SCALE.says), (TILED.id, 1, TILED.says)]


def test_score_at_the_edge_of_a_bin_belongs_to_the_upper_bin() -> None:
    """A score of 100 belongs to the last bin."""
    assert distribution([0.0, 9.9, 10.0, 89.9, 90.0, 100.0]).bins == (2, 1, 0, 0, 0, 0, 0, 0, 1, 2)
    empty = distribution([])
    assert (empty.bins, empty.mean, empty.median) == ((0,) * 10, None, None)


def test_class_without_results_has_a_summary() -> None:
    """A class without results is not an error."""
    summary = summary_of([])
    assert (summary.students, summary.verdicts, summary.total.mean) == (0, {}, None)


def test_no_excerpt_contains_a_name() -> None:
    """Every file has the name of its student in a docstring, comments, strings and identifiers."""
    mistakes = summary_of(EVERYONE).challenges[0].mistakes
    assert {mistake.id for mistake in mistakes} == {NO_SCALE.id, TILED.id, INVERTED.id}
    for mistake in mistakes:
        assert mistake.excerpt == "scores = q @ k.transpose(-2, -1)"


def test_excerpt_of_a_student_without_another_mistake_comes_first() -> None:
    """A student with two mistakes is the last choice. A file may have no excerpt."""
    sources = {"Ann": "a = 1\n" * 34, "Cy": "c = 1\n" * 34, "Di": "d = 1\n" * 34, "Ed": ""}
    results = [
        result(name, verdict="failed", failed=("values",), mistakes=mistakes, source=sources[name])
        for name, mistakes in (
            ("Ann", (NO_SCALE, TILED)),
            ("Cy", (NO_SCALE,)),
            ("Di", (NO_SCALE,)),
            ("Ed", (TILED,)),
        )
    ]
    mistakes = summary_of(results).challenges[0].mistakes
    shown = {mistake.id: mistake.excerpt for mistake in mistakes if mistake.excerpt}
    assert shown == {NO_SCALE.id: "c = 1", TILED.id: "a = 1"}


def test_several_submissions_of_the_same_name_are_not_a_failed_grading() -> None:
    """Neither they nor a student without a file are in the means and the table of checks."""
    missing = result("Ed", verdict="error", seed=None, failed=("loads",), score=0.0)
    results = [result("Ann"), ungraded(), result("Di", verdict=None, error="it broke"), missing]
    summary = summary_of(results)
    assert (summary.total.count, summary.verdicts) == (2, {None: 2, "passed": 1, "error": 1})
    assert {check.due for check in summary.challenges[0].checks} == {1}


def test_points_are_those_that_count() -> None:
    """The distributions have the penalties and overrides of the gradebook."""
    results, settings = [result("Ann"), result("Ben")], assignment()
    rows = (
        student_grade(Student("Ann"), [grade_of(results[0], points=80.0)], settings),
        student_grade(Student("Ben"), [grade_of(results[1])], settings, Override("Ben", "", 40.0)),
        student_grade(Student("Cy"), [], settings),
    )
    summary = summarise(Gradebook(settings, rows))
    assert summary.total.mean == pytest.approx(60.0)
    assert summary.challenges[0].scores.mean == pytest.approx(90.0)
    assert (summary.students, summary.total.count) == (2, 2)
