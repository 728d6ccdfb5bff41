"""Read the import files of learning management systems as their documentation describes them."""

import csv
import io
import re

# Canvas Instructor Guide, "How do I import grades in the Gradebook?".
CANVAS_STUDENT_COLUMNS = {
    *("Student", "LastName", "FirstName", "ID", "SIS User ID", "SIS Login ID", "Section"),
    *("Integration ID", "Root Account"),
}
CANVAS_READ_ONLY = re.compile(r"(Current|Final|Override) (Score|Points|Grade|Status)")


def table(text: str) -> list[dict[str, str]]:
    """Return the rows of a CSV file by heading. Every row must have all columns."""
    header, *rows = csv.reader(io.StringIO(text, newline=""))
    assert len(set(header)) == len(header)
    return [dict(zip(header, row, strict=True)) for row in rows]


def canvas_grades(text: str) -> tuple[dict[str, float], dict[str, dict[str, str]]]:
    """Return the points possible and each student's cells of the assignments' columns.

    The first columns are the student's. A student is named by the first of ID, SIS User ID and SIS
    Login ID that is not empty.
    """
    first, *rows = table(text)
    names = list(first)
    assert names[0] in ("Student", "LastName")
    assert "ID" in names[1:3]
    assert "Section" in names
    assert "Points Possible" in first[names[0]]
    columns = [
        name
        for name in names
        if name not in CANVAS_STUDENT_COLUMNS and not CANVAS_READ_ONLY.search(name)
    ]
    # Canvas takes even an empty text in quotes as new points of an assignment.
    points_line = text.splitlines()[1]
    assert '""' not in points_line
    possible = {name: float(first[name]) for name in columns if first[name]}
    grades: dict[str, dict[str, str]] = {}
    for row in rows:
        keys = (row["ID"], row.get("SIS User ID", ""), row.get("SIS Login ID", ""))
        key = next(key for key in keys if key)
        assert key not in grades
        grades[key] = {name: row[name] for name in columns}
    return possible, grades


def moodle_grades(text: str) -> dict[int, tuple[float | None, str]]:
    """Return the grade and the feedback by the number of the participant.

    MoodleDocs, "Offline grading worksheet": the importer needs "Identifier", "Grade" and
    "Last modified (grade)". It skips an empty grade, and a grade above the maximum.
    """
    grades: dict[int, tuple[float | None, str]] = {}
    for row in table(text):
        found = re.fullmatch(r"Participant (\d+)", row["Identifier"])
        assert found
        assert row["Last modified (grade)"]
        grade = float(row["Grade"]) if row["Grade"] else None
        maximum = row.get("Maximum Grade", row.get("Maximum grade", "100"))
        assert grade is None or 0 <= grade <= float(maximum)
        grades[int(found[1])] = (grade, row["Feedback comments"])
    return grades


def blackboard_grades(text: str) -> dict[str, dict[str, str]]:
    """Return each student's cells by user name.

    Blackboard Help, "Work Offline With Grade Data": each cell of a comma-delimited file is in
    quotation marks, and the user name identifies the student.
    """
    for line in text.splitlines():
        assert re.fullmatch(r'"(?:[^"]|"")*"(?:,"(?:[^"]|"")*")*', line)
    grades = {row["Username"]: row for row in table(text)}
    assert "" not in grades
    return grades


def canvas_student_id(file_name: str) -> str:
    """Return the student whom Canvas gives a file of feedback to.

    Canvas reads the first two parts that are numbers: the id of the user and of the submission.
    source: `SubmissionComment` uploads in the source of Canvas.
    """
    user, _submission = [part for part in file_name.split("_") if part.isdigit()][:2]
    return user


def moodle_participant(path: str) -> str:
    """Return the participant whom Moodle gives a file of feedback to.

    source: `assignfeedback_file` in the source of Moodle: the parts between underscores are the
    name, the number, the kind of plugin and its name.
    """
    parts = path.split("/")[0].split("_")
    return parts[next(i for i, part in enumerate(parts) if part.startswith("assign")) - 1]
