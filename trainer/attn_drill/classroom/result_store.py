"""Store a grading in its folder, each file whole or not at all.

`results/` has a file for each student and challenge. `class.json` has everything else.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal

import msgspec

from attn_drill.classroom.records import (
    Assignment,
    Format,
    Student,
    StudentResult,
    StudentSubmission,
)
from attn_drill.model.errors import DrillError, GraderError
from attn_drill.model.report import Report, from_object, to_object

CLASS_FILE = "class.json"
_MOST_NAME_BYTES = 120
_FORBIDDEN = frozenset('/\\:*?"<>|')

# The keys of a result's file that `check --json` does not have, and their fields of the result.
_MORE_KEYS = {
    "text": "text",
    "source": "source",
    "points": "score",
    "late": "late",
    "task": "task",
    "ungraded": "is_ungraded",
}


def safe_name(student: str) -> str:
    """Return a file name for a student that is valid on every usual file system.

    Another name than the student's own has a digest, so two students never have the same file.

    >>> safe_name("Ana Lee"), safe_name("Ana/Lee")
    ('Ana Lee', 'Ana_Lee-f1161376')
    """
    safe = ""
    for char in student:
        is_blank_or_control = unicodedata.category(char).startswith(("C", "Z")) and char != " "
        safe += "_" if char in _FORBIDDEN or is_blank_or_control else char
    safe = safe.strip(" .") or "_"
    while len(safe.encode()) > _MOST_NAME_BYTES:
        safe = safe[:-1]
    if safe == student:
        return safe
    return f"{safe}-{hashlib.sha256(student.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def encode_result(result: StudentResult) -> bytes:
    """Return a result as a JSON file: the object of `check --json`, and what the class needs.

    The student comes first, for a teacher who opens the file. The text is ASCII, so nothing in the
    file controls a terminal.
    """
    content = to_object(result.report or Report(result.challenge, result.file, None, "error", ()))
    if result.report is None:
        content |= {"verdict": None, "error": result.error}
    content = {"student": result.student, "id": result.id} | content
    content |= {key: getattr(result, field) for key, field in _MORE_KEYS.items()}
    return json.dumps(content, allow_nan=False).encode("ascii") + b"\n"


def decode_result(text: bytes) -> StudentResult:
    """Return the result that a JSON file holds, or raise ValueError, KeyError or TypeError."""
    content = json.loads(text)
    more = {field: content[key] for key, field in _MORE_KEYS.items()}
    return StudentResult(
        student=content["student"],
        challenge=content["challenge"],
        file=content["file"],
        report=None if content["verdict"] is None else from_object(content),
        error=content.get("error"),
        id=content["id"],
        **more,
    )


class Job(msgspec.Struct, frozen=True):
    """A submission that is graded. `class.json` does not have its text."""

    submission: StudentSubmission
    seed: int  # of its cases
    digest: str  # of everything that decides its result
    text: str = ""  # the digest of its text, or ""


class ResultStore:
    """The results of a class in the output folder."""

    def __init__(self, out: Path, challenges: Sequence[str]) -> None:
        self.out = out
        self._several = len(challenges) > 1

    def path(self, student: str, challenge: str) -> Path:
        # With several challenges, each has its own folder.
        folder = self.out / "results"
        return (folder / challenge if self._several else folder) / f"{safe_name(student)}.json"

    def write(self, result: StudentResult) -> None:
        write_atomically(self.path(result.student, result.challenge), encode_result(result))

    def read(self, job: Job) -> StudentResult | None:
        """Return the stored result of a submission, or None if it must be graded again.

        Points and lateness are computed whenever a result is read, so they decide nothing.
        """
        submission = job.submission
        key = (submission.student, submission.challenge)
        try:
            result = decode_result(self.path(*key).read_bytes())
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        # A file that somebody renamed holds the result of another student.
        is_same = (result.student, result.challenge, result.task) == (*key, job.digest)
        return result if is_same else None


class Mark(msgspec.Struct, frozen=True, omit_defaults=True):
    """The points that count in a challenge or in total, and everything that decides them."""

    points: float | None
    override: float | None = None
    text: str = ""  # the digest of the submission's text


class SavedOptions(msgspec.Struct, frozen=True, kw_only=True):
    """The options of a grading, with absolute paths. An empty value was not named."""

    folder: str
    assignment: str = ""
    challenge: str = ""
    roster: str = ""
    packs: list[str] = []
    write: list[Format] = []


class ClassRecord(msgspec.Struct, frozen=True, kw_only=True):
    """`class.json`: everything about a grading except its results.

    With this file, the tables can be written again without the submissions.
    """

    schema: Literal["attn-drill.class/4"] = "attn-drill.class/4"
    version: str
    options: SavedOptions
    seed: int
    assignment: Assignment
    students: list[Student]  # in the order of the tables
    jobs: list[Job]
    other_files: list[str]  # that were not graded and belong to no submission
    has_roster: bool
    possible: dict[str, str] = {}  # the points possible of each column of the roster, by heading
    salt: str = ""  # random text, from which the anonymous ids are computed
    marks: dict[str, dict[str, Mark]] = {}  # by student and challenge; "" is the total

    @property
    def challenges(self) -> list[str]:
        return self.assignment.challenge_ids


def read_record(out: Path) -> ClassRecord | None:
    """Return the record of an earlier grading in a folder, or None if there was none."""
    path = out / CLASS_FILE
    if not path.is_file():
        return None
    try:
        return msgspec.json.decode(path.read_bytes(), type=ClassRecord)
    except (OSError, msgspec.MsgspecError, RecursionError):
        raise DrillError(
            f"{path} is no record of a grading that this version of attn-drill can continue. Name"
            " another folder with --out, or remove the file."
        ) from None


def write_record(out: Path, record: ClassRecord) -> None:
    """Write `class.json`, so that a grading can be resumed and changed."""
    text = msgspec.json.format(msgspec.json.encode(record), indent=2)
    write_atomically(out / CLASS_FILE, text + b"\n")


def text_digest(text: str | None) -> str:
    """Return a short digest of a text; "" without a text."""
    if text is None:
        return ""
    return hashlib.sha256(text.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def remove_others(folder: Path, pattern: str, kept: Iterable[Path]) -> None:
    """Remove the files of students who are not in the class any more, and their empty folders.

    Only files that fit the pattern are removed, because a person may add others.
    """
    wanted = set(kept)
    for path in sorted(folder.glob(pattern)):
        if path not in wanted:
            with contextlib.suppress(OSError):
                path.unlink()
                if path.parent != folder:
                    path.parent.rmdir()


def write_atomically(path: Path, data: bytes) -> None:
    """Write a file under a temporary name, then rename it: a reader never sees a part of it.

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
