"""Tests of the times of submissions: from a person, from Moodle and from Gradescope."""

import json
from dataclasses import replace
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from attn_drill.classroom.assignment import read_time, with_gradescope, with_times
from attn_drill.classroom.collect import Collected
from attn_drill.classroom.records import AssignedChallenge, Assignment, Student, StudentSubmission
from attn_drill.model.errors import DrillError

LOCAL = datetime(2026, 12, 1, 23, 59).timestamp()
PARIS = datetime(2026, 12, 1, 23, 59, tzinfo=timezone(timedelta(hours=1))).timestamp()
UTC_TIME = datetime(2026, 12, 1, 23, 59, tzinfo=UTC).timestamp()
PLAIN = Assignment("Week 3", (AssignedChallenge("gqa"),))


def collected(*students: Student, submitted: float | None = None) -> Collected:
    """Return a class in which each student has one submission, except those called "nobody"."""
    submissions = [
        StudentSubmission(student.name, "gqa", "f.py", "", submitted=submitted)
        for student in students
        if student.name != "nobody"
    ]
    return Collected(list(students), submissions, [])


def times_of(timed: Collected) -> list[float | None]:
    """Return the times of all submissions."""
    return [submission.submitted for submission in timed.submissions]


def written(folder: Path, text: str, name: str = "times.csv") -> Path:
    """Return a file with this text."""
    (folder / name).write_text(text, encoding="utf-8")
    return folder / name


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("2026-12-01 23:59", LOCAL),
        ("2026-12-01T23:59:00", LOCAL),
        (" 2026-12-01 23:59:00.250 ", LOCAL + 0.25),
        ("2026-12-01T23:59:00+01:00", PARIS),
        ("2026-12-01 23:59:00 +0100", PARIS),
        ("2026-12-01T23:59Z", UTC_TIME),
        ("2026-12-01 23:59:00 UTC", UTC_TIME),
        ("2026-12-01 9:05", datetime(2026, 12, 1, 9, 5).timestamp()),
        ("Tuesday, 1 December 2026, 11:59 PM", LOCAL),
        ("Tuesday, December 1, 2026, 11:59\u202fpm", LOCAL),
        ("Tuesday, 1 December 2026, 12:05 AM", datetime(2026, 12, 1, 0, 5).timestamp()),
        *((text, None) for text in ("2026-13-01 23:59", "2026-12-01", "01.12.2026 23:59")),
        *((text, None) for text in ("-", "", "tomorrow")),
        ("Dienstag, 1. Dezember 2026, 23:59", None),
        ("Tuesday, 31 November 2026, 10:11 PM", None),
    ],
)
def test_times_are_read(text: str, time: float | None) -> None:
    """A time without an offset is local. A day alone is no time. Moodle writes words."""
    assert read_time(text) == time


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "student,submitted\nana,tomorrow\n",
            "line 2 has the time 'tomorrow' for ana; it must be like",
        ),
        ("student,submitted\n,2026-12-01 23:59\n", "'2026-12-01 23:59' for nobody"),
        ("student,points\nana,1\n", "columns “student”, “points”. Name two of them student and"),
        ("group,submitted\nana,1\n", "Name two of them student and submitted"),
        (
            "id,submitted\nAna,2026-12-01 23:59\n12,2026-12-02 23:59\n",
            "two different values for Ana. Remove the line",
        ),
    ],
)
def test_wrong_times_get_a_sentence(tmp_path: Path, text: str, words: str) -> None:
    """The sentence names the file and the fault."""
    with pytest.raises(DrillError) as caught:
        with_times(collected(Student("Ana", id="12")), written(tmp_path, text))
    assert words in str(caught.value)
    assert "times.csv" in str(caught.value)


@pytest.mark.parametrize(
    ("text", "times"),
    [
        ("Submitted At;E-Mail\n2026-12-01T23:59:00;A@x\n", [LOCAL, 5.0]),
        ("id,name,timestamp\n12,Cy,2026-12-01 23:59\n", [LOCAL, 5.0]),
        (
            "Identifier,Full name,Email address,Last modified (submission)\n"
            'Participant 7,Ana,a@x,"Tuesday, 1 December 2026, 11:59 PM"\nParticipant 8,Bo,,-\n',
            [LOCAL, 5.0],
        ),
        ("student,submitted\nBo,-\nbo,2026-12-01 23:59\nana,\n", [5.0, LOCAL]),
    ],
)
def test_time_of_a_person_replaces_the_time_of_the_system(
    tmp_path: Path, text: str, times: list[float]
) -> None:
    """Common headings are known. An empty cell is no time."""
    before = collected(Student("Ana", id="12", email="a@x"), Student("Bo"), submitted=5.0)
    timed, unknown = with_times(before, written(tmp_path, text))
    assert times_of(timed) == times
    assert unknown == []


def test_lines_of_nobody_are_returned(tmp_path: Path) -> None:
    """A student who handed in nothing for a challenge has no time there."""
    before = collected(Student("Ana"), Student("Di"))
    ana, di = before.submissions
    before = replace(before, submissions=[ana, replace(di, is_missing=True, source=None)])
    lines = [f"{name},2026-12-01 23:59" for name in ("Ana", "Di", "An")]
    file = written(tmp_path, "\n".join(["student,submitted", *lines]))
    timed, unknown = with_times(before, file)
    assert unknown == ["An"]
    assert times_of(timed) == [LOCAL, None]


def test_gradescope_gives_the_student_the_time_and_the_due_time(tmp_path: Path) -> None:
    """The due time of a group is the latest of its members; the assignment's counts more."""
    data = {
        "id": 1,
        "created_at": "2026-12-01T23:59:00.000000+01:00",
        "assignment": {"due_date": "2026-11-01T23:59:00+01:00", "total_points": "20.0"},
        "users": [
            {"name": "Ana", "email": "ana@x", "id": 7, "sid": "S1", "assignment": None},
            {"name": "Bo", "id": 8, "assignment": {"due_date": "2026-12-01T23:59:00Z"}},
        ],
    }
    file = written(tmp_path, json.dumps(data), "submission_metadata.json")
    timed, assignment = with_gradescope(collected(Student("submission")), PLAIN, file)
    (student,) = timed.students
    assert (student.name, student.id, student.email) == ("submission", "S1", "ana@x")
    assert (times_of(timed), assignment.due) == ([PARIS], UTC_TIME)
    with_due = replace(PLAIN, due=1.0)
    assert with_gradescope(collected(Student("submission")), with_due, file)[1].due == 1.0
    file.write_text('{"assignment": {"due_date": null}}')
    timed, assignment = with_gradescope(collected(Student("submission")), PLAIN, file)
    assert (times_of(timed), assignment.due) == ([None], None)


@pytest.mark.parametrize("text", [None, "", "[]", "{", '{"created_at": "soon"}', '{"users": 3}'])
def test_wrong_metadata_get_a_sentence(tmp_path: Path, text: str | None) -> None:
    """The sentence names the file."""
    file = tmp_path / "submission_metadata.json"
    if text is not None:
        file.write_text(text)
    with pytest.raises(DrillError, match=r"submission_metadata\.json cannot be read.*again\."):
        with_gradescope(collected(Student("submission")), PLAIN, file)
