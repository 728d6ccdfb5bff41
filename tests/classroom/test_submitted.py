"""Tests of the times of submissions that a person or a system gives."""

import json
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest

from trainer.classroom.records import Student
from trainer.classroom.submitted import (
    iso_time,
    moodle_time,
    read_gradescope_metadata,
    read_submitted,
)
from trainer.model.errors import DrillError

LOCAL = datetime(2026, 12, 1, 23, 59).timestamp()
PARIS = datetime(2026, 12, 1, 23, 59, tzinfo=timezone(timedelta(hours=1))).timestamp()
UTC_TIME = datetime(2026, 12, 1, 23, 59, tzinfo=UTC).timestamp()


def written(folder: Path, text: str, name: str = "times.csv") -> Path:
    """Return a file with this text."""
    path = folder / name
    path.write_text(text, encoding="utf-8")
    return path


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
        ("2026-13-01 23:59", None),
        ("2026-12-01", None),
        ("01.12.2026 23:59", None),
        ("9999-12-31T23:59-23:59", None),
        ("", None),
    ],
)
def test_iso_times_are_read(text: str, time: float | None) -> None:
    """A time without an offset is local. A day alone is no time."""
    assert iso_time(text) == time


@pytest.mark.parametrize(
    ("text", "time"),
    [
        ("Saturday, 21 November 2026, 10:11 PM", datetime(2026, 11, 21, 22, 11)),
        ("Wednesday, 10 June 2026, 2:14 AM", datetime(2026, 6, 10, 2, 14)),
        ("Wednesday, September 23, 2020, 12:00 PM", datetime(2020, 9, 23, 12, 0)),
        ("Wednesday, 23 September 2020, 12:05\u202fam", datetime(2020, 9, 23, 0, 5)),
        ("21 November 2026, 22:11", datetime(2026, 11, 21, 22, 11)),
        ("2026-12-01 23:59", datetime(2026, 12, 1, 23, 59)),
        ("-", None),
        ("", None),
        ("Samstag, 21. November 2026, 22:11", None),
        ("Saturday, 31 November 2026, 10:11 PM", None),
        ("Saturday, 21 Brumaire 2026, 10:11 PM", None),
    ],
)
def test_times_of_moodle_are_read(text: str, time: datetime | None) -> None:
    """Moodle writes times in words. A dash means that nothing was handed in."""
    assert moodle_time(text) == (None if time is None else time.timestamp())


@pytest.mark.parametrize(
    "text",
    [
        "Submitted At;E-Mail\n2026-12-01T23:59:00;ana\n",
        "name,date,time\nana,2026-12-01,23:59\n",
        "id,name,timestamp\nana,Ana Lee,2026-12-01 23:59\n",
    ],
)
def test_times_of_students_are_read(tmp_path: Path, text: str) -> None:
    """Common headings are known."""
    assert read_submitted(written(tmp_path, text)) == {"ana": LOCAL}


def test_student_without_a_time_has_none(tmp_path: Path) -> None:
    """A line without a student and a time is empty."""
    text = "student,submitted\nana,2026-12-01 23:59\nbo,-\ncy,\n,-\n"
    assert read_submitted(written(tmp_path, text)) == {"ana": LOCAL, "bo": None, "cy": None}


def test_first_and_last_names_are_put_together(tmp_path: Path) -> None:
    """The name is then in the usual order."""
    text = "Last Name,First Name,Submission Time\nLee,Ana,2026-12-01 23:59\n"
    assert read_submitted(written(tmp_path, text)) == {"Ana Lee": LOCAL}


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("student,submitted\nana,tomorrow\n", "line 2 has the time 'tomorrow'; it must be like"),
        ("student,submitted\n,2026-12-01 23:59\n", "line 2 has a time, but no student"),
        (
            "student,submitted\nana,2026-12-01 23:59\nAna,2026-12-02 23:59\n",
            "lines 2 and 3 both have a time for Ana",
        ),
        ("student,points\nana,1\n", "none of them has the time. Name a column submitted"),
        ("group,submitted\nana,1\n", "none of them names the student. Name a column student"),
    ],
)
def test_wrong_times_get_a_sentence(tmp_path: Path, text: str, words: str) -> None:
    """The sentence names the file and the line."""
    with pytest.raises(DrillError) as caught:
        read_submitted(written(tmp_path, text))
    assert words in str(caught.value)
    assert "times.csv" in str(caught.value)


def test_metadata_of_gradescope_are_read(tmp_path: Path) -> None:
    """The due time of a group is the latest of its members."""
    data = {
        "id": 1,
        "created_at": "2026-12-01T23:59:00.000000+01:00",
        "assignment": {"due_date": "2026-12-01T23:59:00+01:00", "total_points": "20.0"},
        "users": [
            {"name": "Ana Lee", "email": "ana@uni.example", "id": 7, "sid": "S1"},
            {"name": "Bo", "id": 8, "assignment": {"due_date": "2026-12-02T23:59:00+01:00"}},
        ],
        "previous_submissions": [],
    }
    path = written(tmp_path, json.dumps(data), "submission_metadata.json")
    metadata = read_gradescope_metadata(path)
    assert metadata.students == (
        Student("Ana Lee", "S1", "", "ana@uni.example", "gradescope", "7"),
        Student("Bo", "8", "", "", "gradescope", "8"),
    )
    assert metadata.submitted == PARIS
    assert metadata.due == PARIS + 86_400


def test_metadata_without_a_due_time_are_read(tmp_path: Path) -> None:
    """An assignment need not have a due time."""
    path = written(tmp_path, '{"assignment": {"due_date": null}}', "submission_metadata.json")
    metadata = read_gradescope_metadata(path)
    assert (metadata.submitted, metadata.due) == (None, None)


@pytest.mark.parametrize("text", ["", "[]", "{", '{"created_at": "soon"}', '{"users": 3}'])
def test_wrong_metadata_get_a_sentence(tmp_path: Path, text: str) -> None:
    """The sentence names the file."""
    with pytest.raises(DrillError, match=r"submission_metadata\.json.*again\."):
        read_gradescope_metadata(written(tmp_path, text, "submission_metadata.json"))


def test_missing_metadata_get_a_sentence(tmp_path: Path) -> None:
    """The sentence names the file."""
    with pytest.raises(DrillError, match="cannot be read"):
        read_gradescope_metadata(tmp_path / "submission_metadata.json")
