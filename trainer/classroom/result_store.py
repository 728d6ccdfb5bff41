"""Store results on disk: one file for each student and challenge, never written only partly."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
import unicodedata
from collections.abc import Iterable, Sequence
from pathlib import Path

from trainer.classroom.records import StudentResult
from trainer.model.errors import GraderError
from trainer.model.report import Report
from trainer.model.report_codec import from_object, to_object

_MOST_NAME_BYTES = 120
_FORBIDDEN = frozenset('/\\:*?"<>|')
_RESERVED = frozenset("con prn aux nul".split()) | {
    f"{port}{number}" for port in ("com", "lpt") for number in range(1, 10)
}


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


# The keys of a result's file that `check --json` does not have, and their fields of the result.
_OWN_KEYS = {
    "text": "text",
    "source": "source",
    "points": "score",
    "late": "late",
    "task": "task",
    "ungraded": "is_ungraded",
}


def encode_result(result: StudentResult) -> bytes:
    """Return a result as the bytes of a JSON file.

    The file holds the object of `check --json` and the data that the class needs. The student
    comes first, so that a teacher who opens the file sees whose result it is. The text is ASCII,
    so that nothing in the file controls a terminal.
    """
    content = to_object(result.report or Report(result.challenge, result.file, None, "error", ()))
    if result.report is None:
        content |= {"verdict": None, "error": result.error}
    content = {"student": result.student, "id": result.id} | content
    content |= {key: getattr(result, field) for key, field in _OWN_KEYS.items()}
    return json.dumps(content, allow_nan=False).encode("ascii") + b"\n"


def decode_result(text: bytes) -> StudentResult:
    """Return the result that a JSON file holds.

    Raises:
        ValueError, KeyError, TypeError: the text is not the file of a result.
    """
    content = json.loads(text)
    own = {field: content[key] for key, field in _OWN_KEYS.items()}
    return StudentResult(
        student=content["student"],
        challenge=content["challenge"],
        file=content["file"],
        report=None if content["verdict"] is None else from_object(content),
        error=content.get("error"),
        id=content["id"],
        **own,
    )


class ResultStore:
    """The results of a class in the output folder."""

    def __init__(self, out: Path, challenges: Sequence[str]) -> None:
        self.out = out
        self._several = len(challenges) > 1

    def path(self, student: str, challenge: str) -> Path:
        """Return the path of a result: `results/<student>.json`.

        With several challenges, each challenge has its own folder below `results/`.
        """
        folder = self.out / "results"
        return (folder / challenge if self._several else folder) / f"{safe_name(student)}.json"

    def write(self, result: StudentResult) -> None:
        """Write a result. The file is never written only partly."""
        write_atomically(self.path(result.student, result.challenge), encode_result(result))

    def read(self, student: str, challenge: str) -> StudentResult | None:
        """Return the stored result of a student, or None if no readable result exists.

        A submission without a readable result is graded again.
        """
        try:
            result = decode_result(self.path(student, challenge).read_bytes())
        except (OSError, ValueError, KeyError, TypeError, RecursionError):
            return None
        # A file that somebody renamed holds the result of another student.
        is_same = (result.student, result.challenge) == (student, challenge)
        return result if is_same else None


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
