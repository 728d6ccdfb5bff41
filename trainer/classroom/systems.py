"""What learning management systems call the files of a class: Canvas, Moodle (a folder for each student, or all files in a row) and Blackboard."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

_CANVAS = re.compile(r"(?P<name>.+?)(?:_LATE)?_(?P<id>[0-9]{1,18})_(?P<upload>[0-9]{1,18})_(?P<file>.+)", re.DOTALL)
_MOODLE = re.compile(r"(?P<name>.+)_(?P<id>[0-9]{1,18})_assignsubmission_[a-z]+(?:_(?P<file>.*))?", re.DOTALL)
_BLACKBOARD = re.compile(r"(?P<name>.+)_attempt_(?P<attempt>[0-9]{4}(?:-[0-9]{2}){5})(?:_(?P<file>.+)|(?P<note>\.txt))", re.DOTALL)


@dataclass(frozen=True)
class Named:
    """What a name says.

    key       tells students apart, also those of one name
    id        the system's number of the student, or ""
    file      the name that the student gave the file; "" for a folder
    attempt   when it was handed in, in a form that sorts, or ""
    upload    the number of the upload, which grows with time, or 0
    certain   whether other files are hardly ever called like that
    """

    key: tuple[str, ...]
    student: str
    id: str = ""
    file: str = ""
    attempt: str = ""
    upload: int = 0
    certain: bool = True


def named(name: str, is_folder: bool) -> Named | None:
    """The name as a system's, or None where it is none."""
    if (found := _MOODLE.fullmatch(name)) and (is_folder or found["file"]):
        return Named(("moodle", found["name"], found["id"]), found["name"], found["id"], found["file"] or "")
    if is_folder:
        return None
    if found := _BLACKBOARD.fullmatch(name):
        # Assignment and user are not told apart when both may have underscores; the two together tell students apart.
        student = found["name"].rpartition("_")[2] or found["name"]
        return Named(("blackboard", found["name"]), student, file=found["file"] or found["note"], attempt=found["attempt"])
    if found := _CANVAS.fullmatch(name):
        return Named(("canvas", found["name"], found["id"]), found["name"], found["id"], found["file"], upload=int(found["upload"]), certain=False)
    return None


def handed_in_at(attempt: str) -> float | None:
    """Seconds since the epoch of an attempt, which says neither zone nor offset."""
    try:
        return datetime.strptime(attempt, "%Y-%m-%d-%H-%M-%S").timestamp()
    except (ValueError, OverflowError, OSError):
        return None


def has_common_top(files: Sequence[tuple[str, ...]], folders: Sequence[tuple[str, ...]], expected: Sequence[str]) -> bool:
    """Whether one folder of an archive holds all students, instead of being a student's own.

    Args:
        files: the paths of all files.
        folders: those of all folders that have an entry of their own.
        expected: names of the files that were asked for; who has one of them in a folder is its owner.
    """
    paths = [*files, *folders]
    if len({parts[0] for parts in paths}) != 1 or any(len(parts) == 1 for parts in files) or named(paths[0][0], True):
        return False
    alone = {parts[1] for parts in files if len(parts) == 2}
    inner = {parts[1] for parts in paths if len(parts) > 1} - alone
    if any(named(name, False) for name in alone) or any(named(name, True) for name in inner):
        return True
    if any(spelt(name) in expected for name in alone):
        return False
    return len(inner) + sum(name.lower().endswith((".py", ".zip")) for name in alone) > 1


def spelt(file_name: str) -> str:
    """A file's name in one spelling: small letters, underscores for hyphens."""
    return file_name.lower().replace("-", "_")
