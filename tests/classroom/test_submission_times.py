"""Tests of the times of submissions from files next to them."""

import json
from dataclasses import replace
from pathlib import Path

import pytest

from trainer.classroom.collect import Collected
from trainer.classroom.records import AssignedChallenge, Assignment, Student, StudentSubmission
from trainer.classroom.submission_times import with_gradescope, with_moodle_times, with_times
from trainer.classroom.submitted import iso_time
from trainer.model.errors import DrillError

PLAIN = Assignment("Week 3", (AssignedChallenge("gqa"),))


def collected(*students: Student, submitted: float | None = None) -> Collected:
    """Return a class in which each student has one submission, except those called "nobody"."""
    submissions = [
        StudentSubmission(student.name, "gqa", "f.py", "", submitted=submitted)
        for student in students
        if student.name != "nobody"
    ]
    return Collected(list(students), submissions, [])


def test_a_given_time_replaces_the_time_of_the_system() -> None:
    """A student may be named by id. The other students keep their times."""
    given = collected(Student("Ana", id="12"), Student("Bo"), submitted=5.0)
    found, unknown = with_times(given, {"12": 7.0})
    assert [submission.submitted for submission in found.submissions] == [7.0, 5.0]
    assert unknown == []


def test_a_time_of_somebody_without_files_is_reported() -> None:
    """The name may have a typing error."""
    _, unclear = with_times(
        collected(Student("Ana"), Student("nobody")), {"nobody": 1.0, "An": 2.0}
    )
    assert unclear == [
        "names students who handed in nothing: “nobody”.",
        "names students who are not in this class: “An”.",
        "has no time for: “Ana”.",
    ]


def test_an_empty_time_is_reported_if_no_other_time_is_known() -> None:
    """A late submission without a time would cost nothing. A student without files has none."""
    times = {"Ana": None, "nobody": None}
    found, unclear = with_times(collected(Student("Ana"), Student("nobody")), times)
    assert unclear == ["has no time for: “Ana”."]
    assert found.submissions[0].submitted is None
    assert with_times(collected(Student("Ana"), submitted=5.0), times)[1] == [
        "names students who are not in this class: “nobody”."
    ]


def test_two_times_of_one_student_are_refused() -> None:
    """Nobody knows which of them counts. An empty time does not count."""
    given = collected(Student("Ana Lee", login="alee"))
    with pytest.raises(DrillError, match="different times for Ana Lee: “alee”, “Ana Lee”"):
        with_times(given, {"Ana Lee": 1.0, "alee": 2.0})
    for times in ({"Ana Lee": 1.0, "alee": 1.0}, {"Ana Lee": 1.0, "alee": None}):
        found, unclear = with_times(given, times)
        assert (found.submissions[0].submitted, unclear) == (1.0, [])


def test_time_of_a_name_that_two_students_have_is_reported() -> None:
    """An id decides."""
    given = collected(Student("Wei Zhang (1)", id="1"), Student("Wei Zhang (2)", id="2"))
    assert with_times(given, {"Zhang, Wei": 1.0})[1] == [
        "names “Zhang, Wei”, which fits 2 students: Wei Zhang (1), Wei Zhang (2). Name the student"
        " by id.",
        "has no time for: “Wei Zhang (1)”, “Wei Zhang (2)”.",
    ]


def test_student_without_a_line_is_reported() -> None:
    """Without a time, a late file costs nothing. Canvas marks late files itself."""
    given = collected(Student("Ana"), Student("Bo"), Student("Cy"))
    marked = replace(given.submissions[2], has_late_marks=True)
    given = replace(given, submissions=[*given.submissions[:2], marked])
    assert with_times(given, {"Ana": 1.0})[1] == ["has no time for: “Bo”."]
    assert with_times(given, {}) == (given, [])


def test_missing_file_has_no_time() -> None:
    """A challenge without a file is not late."""
    given = collected(Student("Ana"))
    given = replace(given, submissions=[replace(given.submissions[0], is_missing=True)])
    found, _ = with_times(given, {"Ana": 7.0})
    assert found.submissions[0].submitted is None


def test_the_worksheet_of_moodle_has_times() -> None:
    """A student without a readable time keeps the time of the zip."""
    column = "Last modified (submission)"
    students = [
        Student("Ana", row={column: "Saturday, 21 November 2026, 10:11 PM"}),
        Student("Bo", row={column: "-"}),
        Student("Cy"),
    ]
    found = with_moodle_times(collected(*students, submitted=5.0))
    times = [submission.submitted for submission in found.submissions]
    assert times == [iso_time("2026-11-21 22:11"), 5.0, 5.0]


def test_gradescope_gives_the_student_the_time_and_the_due_time(tmp_path: Path) -> None:
    """The due time of the assignment counts more than Gradescope's."""
    file = tmp_path / "submission_metadata.json"
    file.write_text(
        json.dumps(
            {
                "created_at": "2026-12-01T23:00:00+00:00",
                "assignment": {"due_date": "2026-12-01T22:00:00+00:00"},
                "users": [{"name": "Ana Lee", "email": "ana@uni.example", "id": 7, "sid": "12"}],
            }
        )
    )
    found, assignment = with_gradescope(collected(Student("submission")), PLAIN, file)
    (student,) = found.students
    assert (student.name, student.id, student.email) == ("submission", "12", "ana@uni.example")
    assert found.submissions[0].submitted == iso_time("2026-12-01T23:00:00Z")
    assert assignment.due == iso_time("2026-12-01T22:00:00Z")
    own = Assignment("Week 3", PLAIN.challenges, due=1.0)
    assert with_gradescope(collected(Student("submission")), own, file)[1].due == 1.0


def test_time_that_fits_two_students_counts_for_nobody() -> None:
    """Otherwise the time of one student would be taken for another."""
    given = collected(Student("Al", id="1", email="a@x"), Student("Bo", id="2", email="a@y"))
    found, unclear = with_times(given, {"a": 7.0})
    assert [submission.submitted for submission in found.submissions] == [None, None]
    assert unclear[0] == "names “a”, which fits 2 students: Al (1), Bo (2). Name the student by id."
