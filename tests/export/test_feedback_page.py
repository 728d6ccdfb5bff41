"""Tests of the page that a student gets back."""

from collections.abc import Sequence
from dataclasses import replace

import pytest

from tests.support.class_outputs import FAILED, SHOWN
from tests.support.class_results import (
    CHECKS,
    HOSTILE_NAMES,
    NO_SCALE,
    assignment,
    grade_of,
    result,
    student_grade,
    ungraded,
)
from tests.support.html_page import Page
from trainer.classroom.records import (
    Assignment,
    Lateness,
    Override,
    Student,
    StudentResult,
)
from trainer.export.feedback_page import feedback_html
from trainer.export.student_results import with_trouble
from trainer.report.visible import visible

LATE = Lateness(True, 1e9, 9e8, is_extended=True, days=2, penalty=20.0)
DOES_NOT_LOAD = result(
    "Ann",
    verdict="error",
    failed=("loads",),
    skipped=CHECKS[1:],
    load_words="NameError: name 'nm' is not defined at line 3",
)
UNREADABLE = with_trouble(
    StudentResult(student="Ann", challenge="first", file="ann.py", score=0.0), "ann.py is empty."
)


def page(results: Sequence[StudentResult], settings: Assignment, **more: object) -> str:
    """Return the page of a student without penalties and overrides."""
    grade = student_grade(Student("Ann"), [grade_of(found) for found in results], settings, **more)
    return "".join(feedback_html(grade, results, settings))


def words(text: str) -> str:
    """Return the text of a page with single blanks."""
    return " ".join(Page(text).text.split())


def test_total_says_how_it_came_about() -> None:
    """Each challenge has its points, its penalty and its share. The override has its comment."""
    results = [result("Ann"), result("Ann", "second", "failed", failed=("masks",))]
    settings = assignment(("first", "second"))
    grades = [grade_of(results[0], lateness=LATE, points=80.0), grade_of(results[1])]
    by_checks = student_grade(Student("Ann"), grades, settings)
    shown = words("".join(feedback_html(by_checks, results, settings)))
    assert "Ann 78.4 of 100 points" in shown
    assert "first 100 −20 80 33% second 77.6 77.6 67%" in shown
    assert "due: 1998-07-09" in shown
    assert "with an extension" in shown
    assert "late: 2 days, −20 points" in shown
    decided = replace(by_checks, override=Override("Ann", "", 85.0, "Well told."), total=85.0)
    shown = words("".join(feedback_html(decided, results, settings)))
    assert "Ann 85 of 100 points Your teacher decided the total (override): 85 points." in shown
    assert "Well told." in shown


def test_override_of_a_challenge_takes_no_penalty() -> None:
    """The table says that the points are an override, and the challenge has the comment."""
    ann, settings = result("Ann"), assignment()
    decided = Override("Ann", "first", 85.0, "Well told.")
    grades = [grade_of(ann, lateness=LATE, points=85.0, override=decided)]
    grade = student_grade(Student("Ann"), grades, settings)
    shown = words("".join(feedback_html(grade, [ann], settings)))
    assert "first 100 85 override 100%" in shown
    assert "override: 85 points. Well told." in shown


def test_table_has_the_points_of_each_check() -> None:
    """One sentence explains the weights, and a pass without points has a reason."""
    shown = words(page([FAILED], assignment()))
    assert "(shapes 0.2, dtype 0.2, values 4, masks 3, gradients 2," in shown
    assert "values ✗ failed, 0% right 0.0 of 29.9" in shown
    assert "gradients – incomplete, 0% right 0.0 of 14.9" in shown
    assert "vectorised ✓ passed, but only 0% of values are right 0.0 of 7.5" in shown


@pytest.mark.parametrize("shown", SHOWN)
@pytest.mark.parametrize("why", [True, False])
def test_page_shows_only_what_students_see(shown: str, why: bool) -> None:
    """The likely mistake needs `why`, the report `report`, and the table more than the verdict."""
    text = words(page([FAILED], assignment(shown=shown, why=why)))
    assert ("300 of 672" in text) == (shown == "report")
    assert ("123456" in text) == (shown == "report")
    assert ("SECRET" in text) <= (shown == "report")
    assert (NO_SCALE.says in text) == (shown == "report" and why)
    assert ("of 29.9" in text) == (shown != "verdict")
    assert ("vectorised" in text) == (shown != "verdict")
    assert "34" not in text or shown == "report"


@pytest.mark.parametrize("shown", SHOWN)
@pytest.mark.parametrize(
    ("found", "reason", "next_step"),
    [
        (UNREADABLE, "ann.py is empty.", "whether you may hand in the file again"),
        (DOES_NOT_LOAD, "NameError: name 'nm'", "import it in a new Python process"),
        (
            replace(DOES_NOT_LOAD, load_words="ModuleNotFoundError: No module named 'einops'"),
            "No module named 'einops'",
            "einops does not exist where the file is graded",
        ),
    ],
    ids=["unreadable", "does not load", "missing module"],
)
def test_student_sees_why_nothing_was_checked(
    shown: str, found: StudentResult, reason: str, next_step: str
) -> None:
    """The reason and the next step are there, whatever students see."""
    text = words(page([found], assignment(shown=shown)))
    assert next_step in text
    assert reason in text or shown == "report"
    assert "of 100 points" in text


def test_missing_submission_has_the_next_step() -> None:
    """A student without a submission has no total."""
    text = words(page([result("Ann")], assignment(("first", "second"))))
    assert "There is no total yet, because a challenge has no points." in text
    assert "If you handed in a file, tell your teacher." in text
    empty = words(page([], assignment(), override=Override("Ann", "", 10.0)))
    assert "10 of 100 points" in empty


@pytest.mark.parametrize("found", [result("Ann", verdict=None), ungraded("Ann")])
def test_submission_that_was_not_graded_has_no_points(found: StudentResult) -> None:
    """The sentence for the teacher is left out."""
    text = words(page([found], assignment()))
    assert "Tell your teacher." in text
    assert "of 100 points" not in text
    assert "--resume" not in text
    assert "disk" not in text


@pytest.mark.parametrize("name", HOSTILE_NAMES, ids=lambda name: visible(name)[:20])
def test_text_is_never_markup(name: str) -> None:
    """The page has the same tags if all texts are a hostile name. It loads nothing."""
    settings = assignment()
    pages = []
    for text in ("x", name):
        found = result(
            text, verdict="failed", failed=("values",), file=text, text=f"FAILED  x\n{text}"
        )
        override = Override(text, "", 5.0, text)
        grade = student_grade(Student(text), [grade_of(found)], settings, override)
        pages.append("".join(feedback_html(grade, [found], settings)))
    plain, parsed = map(Page, pages)
    assert [tag for tag, _ in parsed.tags] == [tag for tag, _ in plain.tags]
    assert not parsed.named("script")
    assert not parsed.named("a")
