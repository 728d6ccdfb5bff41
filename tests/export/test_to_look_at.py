"""Tests of the list of everything that a person should look at."""

from dataclasses import replace
from types import SimpleNamespace

import pytest

from attn_drill.classroom.records import Gradebook, Lateness, Override, Student, StudentResult
from attn_drill.export._grade_words import KINDS, by_kind, near_miss, notes_of
from attn_drill.grading.checks_load import interface
from attn_drill.model.challenge import Signature
from attn_drill.report.class_text import VERDICTS
from tests.support.classroom import (
    CHECKS,
    SETTLE,
    assignment,
    grade_of,
    outcome,
    result,
    student_grade,
    ungraded,
)
from tests.support.rows import each_row

ONE = assignment()


def noted(gradebook: Gradebook) -> dict[str, list[tuple[str, str]]]:
    """Return the students and reasons of each kind."""
    found: dict[str, list[tuple[str, str]]] = {}
    for note in notes_of(gradebook):
        found.setdefault(note.kind, []).append((note.student, note.text))
    return found


def test_each_reason_has_its_kind() -> None:
    """A submission of each kind is listed once, and by the most urgent kind."""
    decided = Override("Ed", "first", 85.0, "Well told.")
    late = Lateness(is_late=True, days=None)
    gone = Lateness(is_late=True, days=3, penalty=100.0)
    kim = result("Kim", verdict="error", failed=("runs",), skipped=CHECKS[4:], score=0.0)
    rows = (
        student_grade(Student("Ann"), [], ONE),
        student_grade(Student("Bo", notes=("Bo fits two.",)), [grade_of(result("Bo"))], ONE),
        student_grade(Student("bob"), [grade_of(ungraded())], ONE),
        student_grade(Student("Cy"), [grade_of(result("Cy", verdict=None, error="no room"))], ONE),
        student_grade(Student("Di"), [grade_of(result("Di"), "no file")], ONE),
        student_grade(Student("Ed"), [grade_of(result("Ed"), override=decided)], ONE),
        student_grade(
            Student("flo", is_in_roster=False), [grade_of(result("flo", file="flo.py"))], ONE
        ),
        student_grade(Student("Gus"), [grade_of(result("Gus"), lateness=late)], ONE),
        student_grade(Student("Hal"), [grade_of(result("Hal"), alternatives=("a.py",))], ONE),
        student_grade(Student("Ida"), [grade_of(result("Ida"), points=0.0, lateness=gone)], ONE),
        student_grade(Student("Kim"), [grade_of(kim)], ONE),
        student_grade(Student("Lu"), [grade_of(result("Lu"))], ONE),
    )
    gradebook = Gradebook(ONE, rows, ("old/: a folder",), has_roster=True)
    assert noted(gradebook) == {
        "absent": [("Ann", "")],
        "clash": [("Bo", "Bo fits two.")],
        "ungraded": [("bob", SETTLE)],
        "failed": [("Cy", "no room")],
        "missing": [("Di", "no file")],
        "override": [("Ed", "85 points. Well told.")],
        "nobody": [("flo", "flo.py")],
        "time": [("Gus", " (late by its name)")],
        "answers": [("Hal", "a.py")],
        "zero": [
            ("Ida", "late: 3 days, −100 points"),
            ("Kim", "runs: 300 of 672 values of out differ (45%); the inputs are SECRET-INPUT"),
        ],
        "files": [("", "old/: a folder")],
    }
    groups = by_kind(notes_of(gradebook))
    assert [kind for kind, _ in groups] == [kind for kind in KINDS.values() if kind in dict(groups)]
    assert sum(len(notes) for _, notes in groups) == 12


def test_unknown_times_are_listed() -> None:
    """If no submission has a time, a single note says so."""
    unknown, known = Lateness(due=1e9), Lateness(due=1e9, submitted=1e9)
    rows = [
        student_grade(Student(name), [grade_of(result(name), lateness=lateness)], ONE)
        for name, lateness in (("Ann", known), ("Ben", unknown))
    ]
    assert noted(Gradebook(ONE, (*rows,))) == {"time": [("Ben", "")]}
    assert noted(Gradebook(ONE, (rows[1],))) == {
        "time": [("", "No submission of the class has a time.")]
    }
    assert not noted(Gradebook(ONE, (rows[0],)))


def test_only_a_roster_knows_who_handed_in_nothing() -> None:
    """Without a roster, no student without a file is named."""
    book = Gradebook(ONE, (student_grade(Student("Ben"), [], ONE),), has_roster=True)
    assert noted(book) == {"absent": [("Ben", "")]}
    assert noted(replace(book, has_roster=False)) == {}


def broken(check: str, message: str, line: int, **more: object) -> StudentResult:
    """Return the result of a file of four lines that stops at a line."""
    outcomes = (outcome(check, "failed", message=message, line=line),)
    about: dict[str, object] = {"verdict": "error", "source": "a\nb\nc\nd\n\n"} | more
    return result("Ann", outcomes=outcomes, diagnosis=None, **about)  # type: ignore[arg-type]


@each_row(
    "found, words",
    {
        "colon": (
            broken("loads", "SyntaxError: expected ':' at line 2", 2),
            "a colon is missing at line 2",
        ),
        "last line": (
            broken("runs", "NameError: name 'y'", 4),
            "the error is in the last line: NameError: name 'y'",
        ),
        "time limit": (
            broken("runs", "it took too long", 1, verdict="timeout"),
            VERDICTS["timeout"][1],
        ),
        "another line": (broken("runs", "NameError: name 'y'", 3), ""),
        "unchanged stub": (broken("runs", "NotImplementedError: write it", 4), ""),
        "wrong values": (broken("values", "3 of 4 differ", 4, verdict="failed"), ""),
        "passed": (result("Ann"), ""),
        "not graded": (ungraded(), ""),
    },
)
def test_small_slips_are_near_misses(found: StudentResult, words: str) -> None:
    """A slip costs nearly all points, so a person should see it."""
    assert near_miss(found) == words


@pytest.mark.parametrize(
    ("defined", "words"),
    [
        (["PrefixSun", "helper"], "the file defines PrefixSun instead of PrefixSum"),
        (["helper"], ""),
    ],
)
def test_a_name_that_is_nearly_right_is_a_near_miss(defined: list[str], words: str) -> None:
    """The sentence of the check `interface` says so."""
    comparison = SimpleNamespace(
        reply=SimpleNamespace(
            not_callable={"PrefixSum": "missing"}, defined=defined, signatures={}
        ),
        case_set=SimpleNamespace(content=SimpleNamespace(signatures=[Signature("PrefixSum", ())])),
    )
    outcomes = tuple(interface(comparison))  # type: ignore[arg-type]
    assert near_miss(result("Ann", verdict="error", outcomes=outcomes)) == words
