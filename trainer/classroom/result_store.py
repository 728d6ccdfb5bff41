"""Results on disk: one file a student and challenge, whole or not at all; and the record of how the class is graded."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import unicodedata
from dataclasses import asdict
from pathlib import Path
from typing import TypeVar

import msgspec

from trainer.classroom.records import Excerpt, StudentResult
from trainer.model.errors import DrillError, GraderError
from trainer.model.report import Report
from trainer.model.report_codec import from_object, to_object

T = TypeVar("T")

CLASS_FILE = "class.json"
CLASS_SCHEMA = "attn-drill.class/1"
_MOST_NAME_BYTES = 120
_FORBIDDEN = frozenset('/\\:*?"<>|')
_RESERVED = frozenset("con prn aux nul".split()) | {
    f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10)
}


class ClassFile(msgspec.Struct, frozen=True, kw_only=True):
    """`class.json`: what has to be the same when a grading is resumed."""

    schema: str = CLASS_SCHEMA
    title: str
    challenges: list[str]
    seed: int
    per_student_seed: bool
    seconds: float
    memory_mib: int
    version: str


def safe_name(student: str) -> str:
    """A file name for a student: the name itself where every file system takes it, else what can be kept of it and a digest that keeps it apart."""
    kept = "".join(
        "_"
        if one in _FORBIDDEN or (unicodedata.category(one).startswith(("C", "Z")) and one != " ")
        else one
        for one in student
    )
    kept = kept.strip(" .") or "_"
    if kept.split(".")[0].lower() in _RESERVED:
        kept = f"_{kept}"
    while len(kept.encode()) > _MOST_NAME_BYTES:
        kept = kept[:-1]
    if kept == student:
        return kept
    return f"{kept}-{hashlib.sha256(student.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"


def packed(result: StudentResult) -> bytes:
    """Return a result as a JSON file: the object of `check --json`, and what the class needs.

    The student comes first, so that a teacher who opens the file sees whose it is. The text is in
    ASCII, so that nothing in it draws on a terminal.
    """
    nothing = Report(result.challenge, result.file, None, "error", ())
    found = to_object(result.report or nothing)
    if result.report is None:
        found |= {"verdict": None, "error": result.error}
    found = {"student": result.student} | found
    found |= {
        "text": result.text,
        "excerpt": None if result.excerpt is None else asdict(result.excerpt),
        "score": result.score,
        "late": result.late,
        "task": result.task,
    }
    if result.unsettled:
        found["unsettled"] = list(result.unsettled)
    return json.dumps(found, allow_nan=False).encode("ascii") + b"\n"


def unpacked(text: bytes) -> StudentResult:
    """Return the result that a JSON file holds.

    Raises:
        ValueError, KeyError, TypeError: if the file is none of ours.
    """
    found = json.loads(text)
    excerpt = found.get("excerpt")
    return StudentResult(
        student=found["student"],
        challenge=found["challenge"],
        file=found["file"],
        report=None if found["verdict"] is None else from_object(found),
        error=found.get("error"),
        score=found["score"],
        late=found["late"],
        text=found["text"],
        excerpt=None if excerpt is None else Excerpt(**{**excerpt, "lines": (*excerpt["lines"],)}),
        task=found["task"],
        unsettled=tuple(found.get("unsettled", ())),
    )


class ResultStore:
    """The results of a class under OUT."""

    def __init__(self, out: Path, challenges: list[str]) -> None:
        self.out = out
        self._several = len(challenges) > 1

    def path(self, student: str, challenge: str) -> Path:
        """`results/<student>.json`; with several challenges a folder each."""
        folder = self.out / "results"
        return (folder / challenge if self._several else folder) / f"{safe_name(student)}.json"

    def write(self, result: StudentResult) -> None:
        """Write a result, whole or not at all."""
        write_whole(self.path(result.student, result.challenge), packed(result))

    def read(self, student: str, challenge: str) -> StudentResult | None:
        """The result of a student, or None where there is none that can be read: it is graded again then."""
        try:
            found = unpacked(self.path(student, challenge).read_bytes())
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        is_meant = (found.student, found.challenge) == (student, challenge)
        return found if is_meant else None

    def class_file(self) -> ClassFile | None:
        """How an earlier grading here was made, if there was one.

        Raises:
            DrillError: if there is a file that says nothing of it.
        """
        path = self.out / CLASS_FILE
        found = read_json(path, ClassFile)
        if found is None and path.exists():
            raise DrillError(
                f"{path} cannot be read as a record of an earlier grading. Name another folder with --out, or remove it."
            )
        if found is not None and found.schema != CLASS_SCHEMA:
            raise DrillError(
                f"{path} is of schema {found.schema}; this version reads {CLASS_SCHEMA}. Name another folder with --out."
            )
        return found

    def begin(self, record: ClassFile) -> None:
        """Put the record down."""
        write_whole(
            self.out / CLASS_FILE,
            msgspec.json.format(msgspec.json.encode(record), indent=2) + b"\n",
        )


def read_json(path: Path, shape: type[T]) -> T | None:
    """A file of ours, or None where it is none (any more)."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=shape)
    except (OSError, msgspec.MsgspecError, RecursionError):
        return None


def write_whole(path: Path, data: bytes) -> None:
    """Write a file under another name, then give it its own: a reader sees the old one or the new one.

    Raises:
        GraderError: where there is no room or no permission; what was there before stays.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=".new-")
        try:
            with os.fdopen(descriptor, "wb") as file:
                file.write(data)
            os.chmod(name, 0o644)  # mkstemp's own mode would keep the teacher's colleagues out
            os.replace(name, path)
        except BaseException:
            with contextlib.suppress(OSError):
                os.unlink(name)
            raise
    except OSError as error:
        raise GraderError(
            f"{path} cannot be written: {error.strerror or error}. What was written before is whole; make room or name another folder, then add --resume."
        ) from None
