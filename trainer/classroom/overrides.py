"""Read and extend `overrides.toml`: the points that a person decided.

Entries are only added, so everything that a person wrote stays. The last entry for a student and a
challenge counts, and `removed = true` takes the decision back.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from trainer.classroom.records import Override, Student
from trainer.classroom.result_store import write_atomically
from trainer.model.errors import DrillError
from trainer.packs.toml import as_toml, key_error, read_toml, suggestion

OVERRIDES_FILE = "overrides.toml"
_HEAD = """\
# Points that a person decided. You may edit this file; `class grade --resume` reads it.
# The points replace the total of a student, or the points of one challenge if `challenge` is
# given. The last entry for a student and a challenge counts; removed = true takes it back.
# `file` tells for which file the points were decided.
"""


class Entry(msgspec.Struct, forbid_unknown_fields=True, frozen=True, omit_defaults=True):
    """The keys below `[[override]]`."""

    student: Annotated[str, Meta(min_length=1)]
    challenge: str = ""
    points: Annotated[float, Meta(ge=0, le=100)] | None = None
    comment: str = ""
    file: str = ""
    removed: bool = False

    def __post_init__(self) -> None:
        """Refuse an entry that decides nothing."""
        if self.removed == (self.points is not None):
            raise ValueError(f"The entry of {self.student!r} needs `points`, or removed = true.")


class OverridesFile(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The key of `overrides.toml`."""

    override: tuple[Entry, ...] = ()


def read_overrides(
    path: Path, challenges: Collection[str], find: Callable[[str], Student]
) -> list[Override]:
    """Return the decisions that count, each with the name of its student.

    Args:
        path: the file. A missing file gives an empty list.
        challenges: the ids of the challenges. If there is only one, its points and the total are
            the same.
        find: return the student with a name, id or address, or raise DrillError.

    Raises:
        DrillError: one sentence that names the file, the line and the key.
    """
    if not path.exists():
        return []
    counting: dict[tuple[str, str], Override] = {}
    for index, entry in enumerate(read_toml(path, OverridesFile).override):
        try:
            student = find(entry.student).name
            if entry.challenge and entry.challenge not in challenges:
                raise DrillError(
                    f"`challenge` is {as_toml(entry.challenge)}, which the assignment does not"
                    f" have. {suggestion(entry.challenge, challenges)}"
                )
        except DrillError as error:
            sentence = f"{error} Correct the entry, or remove it."
            raise key_error(path, ("override", index), sentence) from None
        challenge = entry.challenge or (next(iter(challenges)) if len(challenges) == 1 else "")
        counting.pop((student, challenge), None)
        if entry.points is not None:
            counting[student, challenge] = Override(
                student, challenge, entry.points, entry.comment, entry.file
            )
    return list(counting.values())


def append_entry(path: Path, entry: Entry) -> None:
    """Add an entry to the file, or begin the file.

    Raises:
        GraderError: the file cannot be written.
    """
    text = path.read_bytes().decode() if path.exists() else _HEAD
    keys = msgspec.to_builtins(entry)
    lines = ["[[override]]", *(f"{key} = {as_toml(value)}" for key, value in keys.items())]
    # Names of files may have characters that Unicode does not allow.
    block = "\n".join(("", *lines, "")).encode("utf-8", "replace")
    write_atomically(path, text.rstrip("\n").encode() + b"\n" + block)
