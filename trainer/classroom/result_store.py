"""Store results on disk: one file for each student and challenge, and one for the whole class.

A file is never written only partly.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import unicodedata
from collections.abc import Iterable
from pathlib import Path
from typing import TypeVar

import msgspec

from trainer.classroom.records import (
    Assignment,
    Student,
    StudentResult,
    StudentSubmission,
)
from trainer.model.errors import DrillError, GraderError
from trainer.model.report import Report
from trainer.model.report_codec import from_object, to_object

T = TypeVar("T")

CLASS_FILE = "class.json"
CLASS_SCHEMA = "attn-drill.class/2"
_MOST_NAME_BYTES = 120
_FORBIDDEN = frozenset('/\\:*?"<>|')
_RESERVED = frozenset("con prn aux nul".split()) | {
    f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10)
}


class _Schema(msgspec.Struct):
    """The key of `class.json` that all versions have."""

    schema: str


class GradedTask(msgspec.Struct, frozen=True):
    """A submission without its text, and the digest of everything that decides its result."""

    submission: StudentSubmission
    task: str


class ClassFile(msgspec.Struct, frozen=True, kw_only=True):
    """`class.json`: everything about a grading except its results.

    With this file, the tables can be written again without the submissions.

    Attributes:
        schema: the form of this file.
        version: the version of attn-drill that wrote this file.
        seed: the seed of the class.
        per_student_seed: True if each student gets different cases.
        assignment: the assignment of the class.
        students: all students, sorted by name.
        tasks: the submissions of these students.
        other_files: the files and folders that were not graded and belong to no submission.
        has_roster: True if a roster was given.
        has_times: True if `--submitted` was given.
        possible: the points possible of each column of the roster, by heading.
        formats: the formats of the tables and pages.
        is_anonymous: True if the files for markers are written.
        is_released: True if the feedback for students is written.
        salt: random text, from which the anonymous ids are computed.
    """

    schema: str = CLASS_SCHEMA
    version: str
    seed: int
    per_student_seed: bool
    assignment: Assignment
    students: list[Student]
    tasks: list[GradedTask]
    other_files: list[str]
    has_roster: bool
    formats: list[str]
    has_times: bool = False
    possible: dict[str, str] = {}
    is_anonymous: bool = False
    is_released: bool = False
    salt: str = ""

    @property
    def challenges(self) -> list[str]:
        """The ids of the challenges."""
        return self.assignment.challenge_ids


def safe_name(student: str) -> str:
    """Return a file name for a student that is valid on every file system.

    Return the student's name itself if it is valid. Otherwise replace its forbidden characters and
    add a digest, so that two names never give the same file name.
    """
    safe = "".join(
        "_"
        if char in _FORBIDDEN or (unicodedata.category(char).startswith(("C", "Z")) and char != " ")
        else char
        for char in student
    )
    safe = safe.strip(" .") or "_"
    if safe.split(".")[0].lower() in _RESERVED:
        safe = f"_{safe}"
    while len(safe.encode()) > _MOST_NAME_BYTES:
        safe = safe[:-1]
    if safe == student:
        return safe
    return f"{safe}-{hashlib.sha256(student.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def encode_result(result: StudentResult) -> bytes:
    """Return a result as the bytes of a JSON file.

    The file holds the object of `check --json` and the data that the class needs. The student
    comes first, so that a teacher who opens the file sees whose result it is. The text is ASCII,
    so that nothing in the file controls a terminal.
    """
    empty = Report(result.challenge, result.file, None, "error", ())
    content = to_object(result.report or empty)
    if result.report is None:
        content |= {"verdict": None, "error": result.error}
    content = {"student": result.student, "id": result.id} | content
    content |= {
        "text": result.text,
        "source": result.source,
        "points": result.score,
        "late": result.late,
        "task": result.task,
    }
    if result.is_ungraded:
        content["ungraded"] = True
    return json.dumps(content, allow_nan=False).encode("ascii") + b"\n"


def decode_result(text: bytes) -> StudentResult:
    """Return the result that a JSON file holds.

    Raises:
        ValueError, KeyError, TypeError: the text is not the file of a result.
    """
    content = json.loads(text)
    return StudentResult(
        student=content["student"],
        challenge=content["challenge"],
        file=content["file"],
        report=None if content["verdict"] is None else from_object(content),
        error=content.get("error"),
        id=content["id"],
        score=content["points"],
        late=content["late"],
        text=content["text"],
        source=content.get("source", ""),
        task=content["task"],
        is_ungraded=content.get("ungraded", False),
    )


class ResultStore:
    """The results of a class in the output folder."""

    def __init__(self, out: Path, challenges: list[str]) -> None:
        self.out = out
        self._several = len(challenges) > 1
        # By path: the time and the size of the file, and the result that it holds. The tables and
        # pages of a class read every result several times.
        self._kept: dict[Path, tuple[tuple[int, int], StudentResult]] = {}

    def path(self, student: str, challenge: str) -> Path:
        """Return the path of a result: `results/<student>.json`.

        With several challenges, each challenge has its own folder below `results/`.
        """
        folder = self.out / "results"
        return (folder / challenge if self._several else folder) / f"{safe_name(student)}.json"

    def write(self, result: StudentResult) -> None:
        """Write a result. The file is never written only partly."""
        write_atomically(self.path(result.student, result.challenge), encode_result(result))

    def remove(self, student: str, challenge: str) -> None:
        """Remove the result of a student, if it exists and can be removed."""
        with contextlib.suppress(OSError):
            self.path(student, challenge).unlink()

    def read(self, student: str, challenge: str) -> StudentResult | None:
        """Return the stored result of a student, or None if no readable result exists.

        A submission without a readable result is graded again.
        """
        path = self.path(student, challenge)
        try:
            status = path.stat()
            state = status.st_mtime_ns, status.st_size
            if path not in self._kept or self._kept[path][0] != state:
                self._kept[path] = state, decode_result(path.read_bytes())
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        result = self._kept[path][1]
        # A file that somebody renamed holds the result of another student.
        is_same = (result.student, result.challenge) == (student, challenge)
        return result if is_same else None

    def class_file(self) -> ClassFile | None:
        """Return the settings of an earlier grading in this folder, or None if there was none.

        Raises:
            DrillError: the file exists but is not readable or has another schema.
        """
        path = self.out / CLASS_FILE
        schema = read_json(path, _Schema)
        if schema is not None and schema.schema != CLASS_SCHEMA:
            raise DrillError(
                f"{path} has schema {schema.schema}; this version reads {CLASS_SCHEMA}. Name"
                " another folder with --out."
            )
        record = read_json(path, ClassFile)
        if record is None and path.exists():
            raise DrillError(
                f"{path} cannot be read as a record of an earlier grading. Name another folder with"
                " --out, or remove it."
            )
        return record

    def write_class_file(self, record: ClassFile) -> None:
        """Write the settings of this grading."""
        write_atomically(
            self.out / CLASS_FILE,
            msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n",
        )


def read_json(path: Path, shape: type[T]) -> T | None:
    """Return the content of a JSON file, or None if the file does not have this shape."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=shape)
    except (OSError, msgspec.MsgspecError, RecursionError):
        return None


def remove_others(folder: Path, pattern: str, kept: Iterable[Path]) -> None:
    """Remove the files of students who are not in the class any more, and their empty folders.

    Args:
        folder: the folder that an earlier run may have written.
        pattern: the pattern of the files that `grade` writes into it.
        kept: the files that this run wrote.
    """
    wanted = set(kept)
    for path in sorted(folder.glob(pattern)):
        if path not in wanted:
            with contextlib.suppress(OSError):
                path.unlink()
                if path.parent != folder:
                    path.parent.rmdir()


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file under a temporary name, then rename it.

    A reader sees the old file or the new file, never a part of the new file.

    Raises:
        GraderError: the disk is full or the permission is missing. An earlier file is unchanged.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            # With the mode of mkstemp, the teacher's colleagues could not read the file.
            os.chmod(name, 0o644)
            os.replace(name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
    except OSError as error:
        raise GraderError(
            f"{path} cannot be written: {error.strerror or error}. The files written before are"
            " complete. Free some space or name another folder, then add --resume."
        ) from None
