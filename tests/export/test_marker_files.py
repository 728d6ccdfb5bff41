"""Tests of the files for markers, who must not know the names."""

from tests.support.class_results import assignment, result
from trainer.classroom.gradebook import gradebook_of
from trainer.classroom.hidden_names import HiddenNames
from trainer.classroom.records import (
    Excerpt,
    Extension,
    Override,
    Student,
    StudentGrade,
    StudentResult,
    StudentSubmission,
)
from trainer.export.marker_files import (
    anonymous_gradebook,
    anonymous_ids_csv,
    anonymous_results,
)
from trainer.model.report import Outcome, Report

STUDENTS = [
    Student("Ana Lee", id="12", email="ana@uni.example", upload="Ana Lee.py", row={"a": "Ana"}),
    Student("Zoe Ng", id="13", notes=("the name fits Zoe Ng (1)",)),
]
IDS = {"Ana Lee": "S-2", "Zoe Ng": "S-1"}


def shown(row: StudentGrade) -> str:
    """Return everything that a page could show of a row."""
    return repr(row)


def hidden(result: StudentResult) -> StudentResult:
    """Return the result that a marker sees."""
    (found,) = anonymous_results([result], IDS, HiddenNames(STUDENTS))
    return found


def test_the_gradebook_of_a_marker_names_nobody() -> None:
    """Points and verdicts stay. The rows are sorted by id."""
    submissions = [
        StudentSubmission("Ana Lee", "first", "Ana Lee/gqa.ipynb", None),
        StudentSubmission("Zoe Ng", "first", "zoe.py", None, trouble="Zoe Ng handed in nothing."),
    ]
    results = [result("Ana Lee", score=75.0), result("Zoe Ng", score=0.0, verdict="error")]
    book = gradebook_of(
        assignment(extensions={"Ana Lee": Extension(days=1)}),
        STUDENTS,
        submissions,
        results,
        [Override("Ana Lee", "first", 80.0, "Good idea, Ana. Better than Zoe Ng.")],
        ["Ana Lee/notes.py"],
    )
    found = anonymous_gradebook(book, IDS, HiddenNames(STUDENTS))
    assert [row.student.name for row in found.rows] == ["S-1", "S-2"]
    assert [row.total for row in found.rows] == [0.0, 80.0]
    assert found.rows[1].files == ("S-2.ipynb",)
    assert found.rows[1].overrides[0].comment == "Good idea, …. Better than …."
    for word in ("Ana", "Lee", "Zoe", "12", "13"):
        assert not any(word in shown(row) for row in found.rows)
    assert (found.other_files, dict(found.assignment.extensions)) == ((), {})


def test_a_report_of_a_marker_does_not_name_the_file() -> None:
    """The text of the report begins with the path of the file."""
    excerpt = Excerpt(1, 2, ("# by Ana Lee", "scores = q @ k", "ana = 1"))
    found = hidden(
        result(
            "Ana Lee",
            verdict="failed",
            failed=("values",),
            file="Ana Lee/gqa.py",
            text="FAILED  first\nAna Lee/gqa.py\nX values\nprinted by ana_proj of Zoe Ng\n",
            excerpt=excerpt,
            id="12",
        )
    )
    assert found.text == "FAILED  first\nS-2.py\nX values\nprinted by … of …\n"
    assert found.excerpt is not None
    assert "Ana" not in repr(found).replace("ana_", "")
    assert found.report is not None
    assert found.report.file == "S-2.py"


def test_a_reason_with_a_name_is_hidden() -> None:
    """The sentence about a file that cannot be read names the student."""
    trouble = "Zoe Ng did not hand in gqa.py."
    report = Report("first", "zoe.py", None, "error", (Outcome("loads", "failed", trouble),))
    unread = StudentResult(
        student="Zoe Ng", challenge="first", file="zoe.py", report=report, score=0.0, text=trouble
    )
    failed = StudentResult(
        student="Zoe Ng", challenge="first", file="zoe.py", error=trouble, is_ungraded=True
    )
    for found in (hidden(unread), hidden(failed)):
        assert "Zoe" not in repr(found)
        assert "The teacher's report gives the reason." in repr(found)


def test_the_teacher_has_the_names_of_the_ids() -> None:
    """The table has a row for each student."""
    assert anonymous_ids_csv(IDS, STUDENTS) == (
        "anonymous_id,student,id\nS-2,Ana Lee,12\nS-1,Zoe Ng,13\n"
    )
