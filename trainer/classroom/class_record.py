"""Keep the record of a class: `class.json`, everything about a grading except its results."""

from __future__ import annotations

from pathlib import Path

import msgspec

from trainer.classroom.records import Assignment, Format, Student, StudentSubmission
from trainer.classroom.result_store import write_atomically
from trainer.model.errors import DrillError

CLASS_FILE = "class.json"
CLASS_SCHEMA = "attn-drill.class/3"


class _Schema(msgspec.Struct):
    """The key of `class.json` that all versions have."""

    schema: str


class Task(msgspec.Struct, frozen=True):
    """A submission without its text.

    Attributes:
        submission: the submission.
        task: the digest of everything that decides its result.
        text: the digest of its text, or "".
    """

    submission: StudentSubmission
    task: str
    text: str = ""


class Mark(msgspec.Struct, frozen=True, omit_defaults=True):
    """The points of a student in a challenge or in total, and everything that they follow from.

    Attributes:
        points: the points that count, or None.
        score: the points from the checks, or None.
        penalty: the points off for a late submission.
        override: the points that a person decided, or None.
        task: the digest of everything that decides the result.
        text: the digest of the text.
    """

    points: float | None
    score: float | None = None
    penalty: float = 0.0
    override: float | None = None
    task: str = ""
    text: str = ""


class SavedOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The files and options of a grading, with absolute paths. `--resume` reads them again.

    Attributes:
        folder: the folder or zip with the submissions.
        assignment: the file of the assignment, or "".
        challenge: the id of the only challenge if there is no such file.
        roster: the file with the students, or "".
        packs: the folders of `--pack`.
        write: the tables and pages.
    """

    folder: str
    assignment: str = ""
    challenge: str = ""
    roster: str = ""
    packs: list[str] = []
    write: list[Format] = []


class ClassRecord(msgspec.Struct, frozen=True, kw_only=True):
    """`class.json`: everything about a grading except its results.

    With this file, the tables can be written again without the submissions.

    Attributes:
        schema: the form of this file.
        version: the version of attn-drill that wrote this file.
        options: the files and options of the grading.
        seed: the seed of the class.
        assignment: the assignment of the class.
        students: all students, sorted by name.
        tasks: the submissions of these students.
        other_files: the files and folders that were not graded and belong to no submission.
        has_roster: True if a roster was given.
        possible: the points possible of each column of the roster, by heading.
        salt: random text, from which the anonymous ids are computed.
        marks: the marks in the tables, by student and challenge; "" is the total.
    """

    schema: str = CLASS_SCHEMA
    version: str
    options: SavedOptions
    seed: int
    assignment: Assignment
    students: list[Student]
    tasks: list[Task]
    other_files: list[str]
    has_roster: bool
    possible: dict[str, str] = {}
    salt: str = ""
    marks: dict[str, dict[str, Mark]] = {}

    @property
    def challenges(self) -> list[str]:
        """The ids of the challenges."""
        return self.assignment.challenge_ids


def read_record(out: Path) -> ClassRecord | None:
    """Return the record of an earlier grading in a folder, or None if there was none.

    Raises:
        DrillError: the file exists but is not readable or has another schema.
    """
    path = out / CLASS_FILE
    if not path.is_file():
        return None
    try:
        text = path.read_bytes()
        schema = msgspec.json.decode(text, type=_Schema).schema
        if schema == CLASS_SCHEMA:
            return msgspec.json.decode(text, type=ClassRecord)
        fault = f"has schema {schema}; this version reads {CLASS_SCHEMA}"
    except (OSError, msgspec.MsgspecError, RecursionError):
        fault = "cannot be read as a record of an earlier grading"
    raise DrillError(f"{path} {fault}. Name another folder with --out, or remove the file.")


def write_record(out: Path, record: ClassRecord) -> None:
    """Write `class.json` into the folder of the results."""
    text = msgspec.json.format(msgspec.json.encode(record), indent=2)
    write_atomically(out / CLASS_FILE, text + b"\n")
