"""Tests of what students see: nothing reveals a hidden case, and no text is a command."""

import json
from dataclasses import asdict

import pytest

from attn_drill.classroom.records import Assignment, StudentResult
from attn_drill.export.feedback import ChallengeView, student_view, with_trouble
from attn_drill.model.checks import CHECK_ORDER
from attn_drill.report.words import visible
from tests.support.class_results import (
    CHECKS,
    FAILED,
    NO_SCALE,
    SETTLE,
    SHOWN,
    assignment,
    make_gradebook,
    outcome,
    result,
    ungraded,
)

NOT_READ = with_trouble(
    StudentResult(student="Ann", challenge="first", file="ann.py", score=0.0), "there is no file."
)


def does_not_load(message: str) -> StudentResult:
    """Return the result of a file whose import fails."""
    return result(
        "Ann",
        verdict="error",
        outcomes=(
            outcome("loads", "failed", message=message),
            *(outcome(check, "skipped", message="needs loads") for check in CHECKS[1:]),
        ),
    )


def view_of(found: StudentResult, settings: Assignment) -> ChallengeView:
    """Return a student's view of one result."""
    (grade,) = make_gradebook([found], settings).rows
    (view,) = student_view(grade, settings)
    return view


@pytest.mark.parametrize("shown", ["checks", "verdict"])
def test_nothing_reveals_a_hidden_case(shown: str) -> None:
    """Students see no message, print, seed, time, digest, line or likely mistake.

    If they may see only the verdict, they see no check either.
    """
    secrets = (
        *("SECRET", "differ", "padding", "123456", "digest", "1.25", "line 34", "no-scale"),
        *("sqrt", "tiled", "q @ k", "disk"),
    )
    for found in (
        FAILED,
        result("Ann", verdict=None),
        NOT_READ,
        result("Ann", verdict="timeout", failed=("runs",)),
        ungraded(),
    ):
        view = view_of(found, assignment(shown=shown))
        text = json.dumps(asdict(view) | {"grade": None}, ensure_ascii=False)
        assert not [secret for secret in secrets if secret in text]
        assert shown == "checks" or not any(f'"{check}"' in text for check in CHECK_ORDER)


@pytest.mark.parametrize("shown", SHOWN)
@pytest.mark.parametrize(
    ("found", "reason"),
    [
        (NOT_READ, "there is no file."),
        (does_not_load("NameError: nm at line 3"), "NameError: nm"),
        (does_not_load("ModuleNotFoundError: No module named 'einops'"), "named 'einops'"),
    ],
    ids=["not read", "does not load", "missing module"],
)
def test_student_sees_why_a_file_does_not_load(
    shown: str, found: StudentResult, reason: str
) -> None:
    """The student needs the reason and the next step, whatever else is shown."""
    view = view_of(found, assignment(shown=shown))
    assert "Correct the file so that it loads with torch" in view.says
    assert reason in f"{view.says} {view.reasons.get('loads')} {view.report}"


@pytest.mark.parametrize("shown", SHOWN)
@pytest.mark.parametrize(
    ("found", "words"),
    [
        (result("Ann", verdict=None, error="Run `attn-drill doctor`."), "not your fault"),
        (ungraded(), "several files have your name"),
    ],
)
def test_submission_that_was_not_graded_has_no_details(
    shown: str, found: StudentResult, words: str
) -> None:
    """The sentence of the error is for the teacher, and may name a command."""
    view = view_of(found, assignment(shown=shown))
    assert words in view.says
    assert (view.verdict, view.rows, view.report) == (None, (), "")
    assert view.symbol_and_word[1] == "not graded"
    assert SETTLE not in view.says


def test_missing_submission_has_the_next_step() -> None:
    """A teacher knows where the file is."""
    settings = assignment(("first", "second"))
    (grade,) = make_gradebook([result("Ann")], settings).rows
    first, second = student_view(grade, settings)
    assert [first.share, second.share] == pytest.approx([1 / 3, 2 / 3])
    assert "tell your teacher" in second.says
    assert second.symbol_and_word[1] == "no submission"


@pytest.mark.parametrize("why", [True, False])
def test_student_sees_the_whole_report_if_allowed(why: bool) -> None:
    """The likely mistake needs `why`, too. Its id is a name of ours."""
    view = view_of(FAILED, assignment(shown="report", why=why))
    assert view.report == visible(FAILED.text, lines=True)
    assert (NO_SCALE.says in view.says) == why
    assert "no-scale" not in view.says
    assert view.reasons["masks"].startswith("padding mask: 300 of 672")
