"""Read and extend `overrides.toml`: the points that a person decided.

Entries are only added, so everything that a person wrote stays. The last entry for a student and a
challenge counts.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import msgspec
from msgspec import Meta

from attn_drill.classroom.gradebook import TOTAL
from attn_drill.classroom.records import Override
from attn_drill.classroom.result_store import ClassRecord, text_digest, write_atomically
from attn_drill.classroom.students import StudentIndex
from attn_drill.model.errors import DrillError
from attn_drill.packs.toml import as_toml, key_error, read_toml, suggestion

OVERRIDES_FILE = "overrides.toml"
_HEAD = """\
# Points that a person decided. You may edit this file; `class grade --resume` reads it.
# The points replace the total of a student, or the points of one challenge if `challenge` is
# given. The last entry for a student and a challenge counts.
# `file` tells for which file the points were decided.
"""


class Entry(msgspec.Struct, forbid_unknown_fields=True, frozen=True, omit_defaults=True):
    """The keys below `[[override]]` in `overrides.toml`."""

    student: Annotated[str, Meta(min_length=1)]
    points: Annotated[float, Meta(ge=0, le=100)]
    challenge: str = ""
    comment: str = ""
    file: str = ""


class OverridesFile(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    override: tuple[Entry, ...] = ()


def read_overrides(out: Path, record: ClassRecord) -> list[Override]:
    """Return the decisions that count, each with the name of its student, or raise DrillError."""
    path = out / OVERRIDES_FILE
    if not path.exists():
        return []
    index_of_students = StudentIndex(record.students, record.salt)
    counting: dict[tuple[str, str], Override] = {}
    for index, entry in enumerate(read_toml(path, OverridesFile).override):
        try:
            student = index_of_students.find(entry.student).name
            if entry.challenge and entry.challenge not in record.challenges:
                raise DrillError(
                    f"`challenge` is {as_toml(entry.challenge)}, which the assignment does not"
                    f" have. {suggestion(entry.challenge, record.challenges)}"
                )
        except DrillError as error:
            sentence = f"{error} Correct the entry, or remove it."
            raise key_error(path, ("override", index), sentence) from None
        # The points of an only challenge and the total are the same.
        challenge = record.challenges[0] if len(record.challenges) == 1 else entry.challenge
        is_outdated = bool(entry.file) and entry.file != decided_file(record, student, challenge)
        counting[student, challenge] = Override(
            student, challenge, entry.points, entry.comment, is_outdated
        )
    return list(counting.values())


def decided_file(record: ClassRecord, student: str, challenge: str) -> str:
    """Return the digest of the texts for which points are decided; "" if there is no text."""
    texts = [
        job.text
        for job in record.jobs
        if job.submission.student == student
        and challenge in (TOTAL, job.submission.challenge)
        and job.text
    ]
    return text_digest("".join(texts)) if texts else ""


def append_entry(path: Path, entry: Entry) -> None:
    """Add an entry to the file, or begin the file."""
    text = path.read_bytes().decode() if path.exists() else _HEAD
    keys = msgspec.to_builtins(entry)
    lines = ["[[override]]", *(f"{key} = {as_toml(value)}" for key, value in keys.items())]
    # Names of files may have characters that Unicode does not allow.
    block = "\n".join(("", *lines, "")).encode("utf-8", "replace")
    write_atomically(path, text.rstrip("\n").encode() + b"\n" + block)
